package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dure/inference/catalog"
	"dure/inference/fetch"
)

func listCommand() *cobra.Command {
	var asJSON, found bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the models that dure knows, which are on this machine, and what they take on the disk", Args: cobra.NoArgs,
		Example: "  dure list\n  dure list --found    the GGUF files that other programs have",
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := homeDir()
			if err != nil {
				return err
			}
			cat, err := openCatalog(home)
			if err != nil {
				return err
			}
			if found {
				return listFound(cmd.OutOrStdout(), home, cat, asJSON)
			}
			return listModels(cmd.OutOrStdout(), home, cat, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&found, "found", false, "list the GGUF files of Ollama, LM Studio and the model hub's cache")
	return cmd
}

// modelRow is one model of `dure list --json`.
type modelRow struct {
	Name    string   `json:"name"`
	Bytes   int64    `json:"bytes"` // 0 = not known before the first pull
	Licence string   `json:"licence"`
	Rights  string   `json:"rights,omitempty"`
	Roles   []string `json:"roles"`
	Default bool     `json:"default"`
	Source  string   `json:"source"`
	Path    string   `json:"path,omitempty"` // empty = not on this machine
	InPlace bool     `json:"in_place"`       // it is another program's file
	Remote  bool     `json:"remote"`         // another server runs it
	Disk    int64    `json:"disk_bytes"`     // what it takes in DURE_HOME, unfinished downloads included
	begun   bool     // a download is unfinished
	Partial int64    `json:"partial_bytes"` // of an unfinished download, what is there
}

func listModels(out io.Writer, home string, cat *catalog.Catalog, asJSON bool) error {
	var rows []modelRow
	for _, e := range cat.Entries {
		r, err := row(home, e)
		if err != nil {
			return err
		}
		r.Default = e.Name == cat.DefaultName
		rows = append(rows, r)
	}
	if asJSON {
		return json.NewEncoder(out).Encode(rows)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSIZE\tON DISK\tROLES\tLICENCE\tON THIS MACHINE")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.title(), r.size(), sizeOrNone(r.Disk), strings.Join(r.Roles, ","), r.Licence, r.place())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	line, err := diskLine(home)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\nyour own entries go into %s\n", line, filepath.Clean(catalog.UserFile(home)))
	return err
}

func row(home string, e catalog.Entry) (modelRow, error) {
	r := modelRow{Name: e.Name, Bytes: e.Bytes, Licence: e.Licence, Rights: e.Rights, Roles: e.Roles, Source: e.Origin(), Remote: e.Remote()}
	path, ok := catalog.Local(home, e)
	if ok {
		r.Path = path
		r.InPlace = e.Source.Path != "" || !catalog.Owned(home, path)
	}
	disk, err := catalog.DiskUse(filepath.Join(home, "models", e.Name))
	if err != nil {
		return r, err
	}
	var begun int64
	r.Partial, begun, err = catalog.Begun(&fetch.Fetcher{Home: home}, e.Name)
	if r.Disk, r.begun = begun, begun > 0; ok || disk > 16<<10 { // less is an empty folder with its notes
		r.Disk += disk
	}
	return r, err
}

func (r modelRow) title() string {
	if r.Default {
		return r.Name + " (default)"
	}
	return r.Name
}

func (r modelRow) size() string {
	switch {
	case r.Remote:
		return "-"
	case r.Bytes == 0 && r.Path != "":
		if info, err := os.Stat(r.Path); err == nil {
			return size(info.Size())
		}
	case r.Bytes == 0:
		return "not known yet"
	}
	return size(r.Bytes)
}

// byHand is what catalog calls the origin of a file that cannot be fetched.
const byHand = "by hand"

func sizeOrNone(n int64) string {
	if n == 0 {
		return "-"
	}
	return size(n)
}

func (r modelRow) place() string {
	switch {
	case r.Remote:
		return "no, on another server: " + r.Source
	case r.Path != "" && r.InPlace:
		return r.Path + " (not dure's, used in place)"
	case r.Path != "":
		return r.Path
	case r.begun:
		return fmt.Sprintf("in part (%s): dure pull %s", size(r.Partial), r.Name)
	}
	if r.Source == byHand {
		return "no, by hand: dure pull " + r.Name + " tells how"
	}
	return "no: dure pull " + r.Name
}

// diskLine says what the home folder takes and what the disk has left.
func diskLine(home string) (string, error) {
	var parts []string
	for _, name := range []string{"models", "engine", "downloads", "build", cacheFolder} {
		n, err := catalog.DiskUse(filepath.Join(home, name))
		if err != nil {
			return "", err
		}
		parts = append(parts, name+" "+size(n))
	}
	all, err := catalog.DiskUse(home)
	if err != nil {
		return "", err
	}
	free, err := fetch.Free(home)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("disk: %s holds %s (%s); %s free", home, size(all), strings.Join(parts, ", "), size(int64(free))), nil
}

// foundRow is one file of `dure list --found --json`.
type foundRow struct {
	catalog.Found
	Serves []string `json:"serves,omitempty"` // entries that may be this file
}

func listFound(out io.Writer, home string, cat *catalog.Catalog, asJSON bool) error {
	found, err := catalog.Find(stores())
	rows := []foundRow{}
	for _, f := range found {
		r := foundRow{Found: f}
		for _, e := range cat.Entries {
			if f.Serves(home, e) {
				r.Serves = append(r.Serves, e.Name)
			}
		}
		rows = append(rows, r)
	}
	if asJSON {
		return errors.Join(err, json.NewEncoder(out).Encode(rows))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROGRAM\tNAME\tSIZE\tUSE IT WITH\tPATH")
	for _, r := range rows {
		use := "an entry with source: path"
		if !strings.HasSuffix(r.Path, ".gguf") {
			use = "an entry with its sha256" // a path must end in .gguf
		}
		if len(r.Serves) > 0 {
			use = "dure pull " + r.Serves[0]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Program, r.Name, size(r.Bytes), use, r.Path)
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "none\t\t\t\t")
	}
	return errors.Join(err, w.Flush())
}

// stores are the folders where other programs keep their models.
func stores() []catalog.Store {
	var all []catalog.Store
	add := func(p catalog.Program, dir string) {
		if dir != "" && filepath.IsAbs(dir) {
			all = append(all, catalog.Store{Program: p, Dir: dir})
		}
	}
	home, err := os.UserHomeDir()
	under := func(parts ...string) string {
		if err != nil {
			return "" // no home folder, nothing below it
		}
		return filepath.Join(append([]string{home}, parts...)...)
	}
	add(catalog.Ollama, os.Getenv(envOllama))
	add(catalog.Ollama, under(".ollama", "models"))
	add(catalog.Ollama, "/usr/share/ollama/.ollama/models")
	add(catalog.LMStudio, under(".lmstudio", "models"))
	add(catalog.LMStudio, under(".cache", "lm-studio", "models"))
	cache := os.Getenv(envCache)
	if cache == "" {
		cache = under(".cache")
	}
	hub := filepath.Join(cache, "huggingface", "hub")
	if dir := os.Getenv(envHubHome); dir != "" {
		hub = filepath.Join(dir, "hub")
	}
	if dir := os.Getenv(envHubCache); dir != "" {
		hub = dir
	}
	add(catalog.HubCache, hub)
	return all
}
