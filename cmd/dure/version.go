package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"dure/inference/library"
)

// released is the version of a release archive; the linker sets it.
var released string

// buildVersion is that of the release, or else the commit the binary was built
// from, as the Go tool records it; "devel" for builds outside a repository.
func buildVersion() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	if revision == "" {
		return "devel"
	}
	return revision[:min(12, len(revision))] + modified
}

// moduleVersion is that of a module in this binary.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "unknown"
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the versions of dure and of its engine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := map[string]string{
				"dure": buildVersion(), "engine": "llama.cpp " + library.LlamaVersion,
				"yzma": moduleVersion("github.com/hybridgroup/yzma"),
				"go":   runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "dure %s, engine %s, %s %s\n", v["dure"], v["engine"], v["go"], v["platform"])
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
