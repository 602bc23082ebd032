package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"dure/runtime/sandbox"
	"dure/runtime/tool/custom"
	"dure/runtime/tool/mcp"
	"dure/runtime/world"
)

// extraFlags name the files with what workers get beside their own tools.
type extraFlags struct{ tools, servers string }

func (x *extraFlags) register(f *pflag.FlagSet) {
	f.StringVar(&x.tools, "tools", "", "a YAML file with tools of your own for the workers: commands that run in their sandboxes")
	f.StringVar(&x.servers, "mcp", "", "a YAML file with MCP servers for the workers: programs that run in their sandboxes")
}

// extraServer is an entry of the file of servers.
type extraServer struct {
	Name    string   `yaml:"name"`
	Command []string `yaml:"command"`
	Env     []string `yaml:"env"`    // KEY=VALUE; the agent can read it
	Mounts  []string `yaml:"mounts"` // what the box has of this machine, to be read
}

func (x extraFlags) read() (e world.Extra, mounts []sandbox.Mount, err error) {
	if x.tools != "" {
		b, err := os.ReadFile(x.tools)
		if err != nil {
			return e, nil, err
		}
		if e.Tools, err = custom.Decode(b); err != nil {
			return e, nil, fmt.Errorf("%s: %w", x.tools, err)
		}
	}
	if x.servers == "" {
		return e, nil, nil
	}
	b, err := os.ReadFile(x.servers)
	if err != nil {
		return e, nil, err
	}
	var servers []extraServer
	if err := yaml.UnmarshalWithOptions(b, &servers, yaml.Strict()); err != nil {
		return e, nil, fmt.Errorf("%s: %w", x.servers, err)
	}
	for _, s := range servers {
		if s.Name == "" || len(s.Command) == 0 {
			return e, nil, fmt.Errorf("%s: a server has a name and a command", x.servers)
		}
		e.Servers = append(e.Servers, mcp.Config{Name: s.Name, Args: s.Command, Env: s.Env})
		for _, m := range s.Mounts {
			if !filepath.IsAbs(m) {
				return e, nil, fmt.Errorf("%s: the mount %q of %s is no absolute path", x.servers, m, s.Name)
			}
			mounts = append(mounts, sandbox.Mount{From: m})
		}
	}
	return e, mounts, nil
}
