package cert

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// names are what a certificate is for.
type names struct {
	dns   []string // lower case
	addrs []netip.Addr
	// fleeting addresses go in when a certificate is made, but are no reason to
	// make one: those of IPv6 change every day on many machines.
	fleeting []netip.Addr
}

// machineNames are this machine's, without loopback.
func machineNames() names {
	var n names
	if host, err := os.Hostname(); err == nil && dnsName(strings.ToLower(host)) {
		host = strings.ToLower(host)
		n.dns = append(n.dns, host)
		if !strings.Contains(host, ".") {
			n.dns = append(n.dns, host+".local") // what other devices of a home network find it by
		}
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return n // then the names alone; --host adds what is needed
	}
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		switch addr := p.Addr().Unmap(); {
		case addr.IsLoopback(), addr.IsLinkLocalUnicast(), addr.IsUnspecified():
		case addr.Is4():
			n.addrs = append(n.addrs, addr)
		default:
			n.fleeting = append(n.fleeting, addr.WithZone(""))
		}
	}
	return n
}

// wanted are the names of loopback, of the machine and those that were asked for.
func wanted(hosts []string, machine names) (names, error) {
	n := names{
		dns:   append([]string{"localhost"}, machine.dns...),
		addrs: append([]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}, machine.addrs...),
	}
	for _, host := range hosts {
		if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
			if !addr.IsUnspecified() { // 0.0.0.0 stands for all of the machine's
				n.addrs = append(n.addrs, addr.WithZone("").Unmap())
			}
			continue
		}
		name := strings.ToLower(strings.TrimSuffix(host, "."))
		if !dnsName(name) {
			return n, fmt.Errorf("a certificate cannot be made for the host %q: want a name or an address", host)
		}
		n.dns = append(n.dns, name)
	}
	slices.Sort(n.dns)
	n.dns = slices.Compact(n.dns)
	for _, addr := range machine.fleeting {
		if !slices.Contains(n.addrs, addr) {
			n.fleeting = append(n.fleeting, addr)
		}
	}
	slices.SortFunc(n.addrs, netip.Addr.Compare)
	n.addrs = slices.Compact(n.addrs)
	return n, nil
}

// dnsName reports whether a name can stand in a certificate; lower case.
func dnsName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		bad := func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_') }
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, bad) || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// ips are the addresses to put into a certificate.
func (n names) ips() (all []net.IP) {
	for _, addr := range slices.Concat(n.addrs, n.fleeting) {
		all = append(all, addr.AsSlice())
	}
	return all
}

// missing is what a certificate is not for and should be; "" for nothing.
func (n names) missing(leaf *x509.Certificate) string {
	var missing []string
	for _, name := range n.dns {
		if !slices.Contains(leaf.DNSNames, name) {
			missing = append(missing, name)
		}
	}
	for _, addr := range n.addrs {
		if !slices.ContainsFunc(leaf.IPAddresses, func(ip net.IP) bool { return ip.Equal(addr.AsSlice()) }) {
			missing = append(missing, addr.String())
		}
	}
	return strings.Join(missing, ", ")
}
