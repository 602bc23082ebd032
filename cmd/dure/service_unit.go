package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	unitName = "dure.service"
	// unitMark begins a unit that dure wrote; the number after it goes up when an
	// older dure must not replace the unit any more.
	unitMark   = "# Written by `dure service install`, form "
	unitFormat = 1
)

// unit is what a systemd unit for `dure serve` says.
type unit struct {
	Program  string   // absolute path
	Args     []string // of dure serve
	Home     string   // DURE_HOME
	Settings string   // environment file
	Hardened bool
}

// text is the unit file.
//
// A runner that the kernel ends for want of memory must not take the server with
// it (OOMPolicy); the server starts another. Core dumps would hold prompts. Name
// spaces are left alone: a user's manager has them only where the system allows
// it, and cards must stay visible. MemoryDenyWriteExecute would stop the calls
// between the engine and Go.
func (u unit) text() (string, error) {
	// These systemd refuses in the path of a program, however they are quoted.
	if strings.ContainsAny(u.Program, "\"'\\") {
		return "", fmt.Errorf("systemd starts no program with a quote or a backslash in its path: move %s elsewhere", u.Program)
	}
	// This one is read to the end of the line, and cannot be quoted.
	if strings.TrimRight(u.Settings, " \\") != u.Settings {
		return "", fmt.Errorf("%q ends with a blank or a backslash: a unit cannot hold it; use another path", u.Settings)
	}
	program, err := quoteUnit(u.Program, false)
	if err != nil {
		return "", err
	}
	command := []string{program, "serve"}
	for _, a := range u.Args {
		q, err := quoteUnit(a, true)
		if err != nil {
			return "", err
		}
		command = append(command, q)
	}
	home, err := quoteUnit(envHome+"="+u.Home, false)
	if err != nil {
		return "", err
	}
	if err := checkUnitText(u.Settings); err != nil {
		return "", err
	}
	hardening := "# Light hardening: NVIDIA's driver may need a helper with root's rights to make its device files.\n"
	if u.Hardened {
		hardening = `NoNewPrivileges=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
`
	}
	return fmt.Sprintf(unitTemplate, unitMark, unitFormat, strings.Join(command, " "), home, doublePercent(u.Settings), hardening), nil
}

const unitTemplate = `%s%d. The next install replaces this file: change it with
# 'systemctl --user edit dure', which makes a file beside it that stays.

[Unit]
Description=dure, a local server of language models
StartLimitIntervalSec=30min
StartLimitBurst=10

[Service]
Type=exec
ExecStart=%s
Environment=%s
EnvironmentFile=-%s

# After a crash: soon, then later and later. Before version 254 systemd says that it
# does not know the steps, and waits the same time always.
Restart=on-failure
RestartSec=5s
RestartSteps=6
RestartMaxDelaySec=2min
# Running answers get a few seconds; runners end with the server.
KillMode=mixed
TimeoutStopSec=30s
SuccessExitStatus=130

OOMPolicy=continue
OOMScoreAdjust=300
CPUWeight=80
IOWeight=80
LimitNOFILE=65536
LimitCORE=0
UMask=0077
%s
[Install]
WantedBy=default.target
`

// plainRE is what needs no quotes.
var plainRE = regexp.MustCompile(`^[A-Za-z0-9_./:=@+,-]+$`)

// quoteUnit writes a word so that systemd reads it back as it is: percent signs
// and, in arguments of a command, dollars begin something else there.
func quoteUnit(word string, dollars bool) (string, error) {
	if err := checkUnitText(word); err != nil {
		return "", err
	}
	if plainRE.MatchString(word) {
		return word, nil
	}
	w := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(doublePercent(word))
	if dollars {
		w = strings.ReplaceAll(w, "$", "$$")
	}
	return `"` + w + `"`, nil
}

func doublePercent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// checkUnitText refuses what a line of a unit cannot hold.
func checkUnitText(s string) error {
	if !utf8.ValidString(s) || strings.IndexFunc(s, unicode.IsControl) >= 0 {
		return fmt.Errorf("%q has control characters or is no UTF-8: a unit cannot hold it; use another path", s)
	}
	return nil
}
