package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dure/inference"
	"dure/inference/key"
)

func keyListCommand(file *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the keys, their limits and what each has used", Args: cobra.NoArgs,
		Long: `List the keys, their limits and what each has used.

A running server writes usage every five seconds. Tokens are those of prompts, cached
ones too, and answers; today is the server's day.`,
		Example: "  dure key list\n  dure key list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := keyFile(*file)
			if err != nil {
				return err
			}
			if problem := key.Exposed(path); problem != "" {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+problem)
			}
			rows, err := keyRows(path, time.Now())
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(rows)
			}
			return printKeys(cmd.OutOrStdout(), path, rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the usage of each day")
	return cmd
}

// keyRow is one key of `dure key list --json`.
type keyRow struct {
	Name     string                `json:"name"`
	ID       string                `json:"id"`    // tells it from an earlier key of its name
	State    string                `json:"state"` // active, disabled or expired
	Created  time.Time             `json:"created"`
	Expires  time.Time             `json:"expires,omitzero"`
	Admin    bool                  `json:"admin"`
	Models   []string              `json:"models"` // none = all
	Priority inference.Priority    `json:"priority,omitempty"`
	Limits   key.Limits            `json:"limits"` // one that is missing is none
	LastUsed time.Time             `json:"last_used,omitzero"`
	Today    key.Counts            `json:"today"`
	Total    key.Counts            `json:"total"`
	Days     map[string]key.Counts `json:"days"` // the last 40 with requests
}

func keyRows(path string, now time.Time) ([]keyRow, error) {
	keys, err := key.Read(path)
	if err != nil {
		return nil, err
	}
	usage, err := key.ReadUsage(path)
	if err != nil {
		return nil, err
	}
	rows := []keyRow{}
	for _, k := range keys {
		u := usage[k.ID()]
		if u.Days == nil {
			u.Days = map[string]key.Counts{}
		}
		rows = append(rows, keyRow{
			Name: k.Name, ID: k.ID(), State: k.State(now), Created: k.Created, Expires: k.Expires, Admin: k.Admin,
			Models: append([]string{}, k.Models...), Priority: k.Priority, Limits: k.Limits,
			LastUsed: u.Last, Today: u.Days[now.Format(time.DateOnly)], Total: u.Total, Days: u.Days,
		})
	}
	return rows, nil
}

func printKeys(out io.Writer, path string, rows []keyRow) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintf(out, "no keys in %s; `dure key add NAME` makes one\n", path)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tMAY USE\tLIMITS\tTODAY\tTOTAL\tLAST USED")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.state(), r.rights(), r.limits(), used(r.Today), used(r.Total), r.last())
	}
	return w.Flush()
}

func (r keyRow) state() string {
	if r.State == "active" && !r.Expires.IsZero() {
		return "until " + r.Expires.Local().Format("2006-01-02 15:04")
	}
	return r.State
}

// rights are what the key may do, but for limits.
func (r keyRow) rights() string {
	may := "all models"
	if len(r.Models) > 0 {
		may = strings.Join(r.Models, ", ")
	}
	if r.Priority != "" {
		may += "; " + string(r.Priority) + " at most"
	}
	if r.Admin {
		may += "; admin"
	}
	return may
}

func (r keyRow) limits() string {
	var all []string
	for _, l := range []struct {
		most int64
		unit string
	}{
		{r.Limits.RequestsPerMinute, " req/min"}, {r.Limits.RequestsPerDay, " req/day"},
		{r.Limits.TokensPerMinute, " tok/min"}, {r.Limits.TokensPerDay, " tok/day"}, {r.Limits.Concurrency, " at once"},
	} {
		if l.most > 0 {
			all = append(all, fmt.Sprint(l.most, l.unit))
		}
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}

func used(c key.Counts) string {
	if c == (key.Counts{}) {
		return "-"
	}
	text := fmt.Sprintf("%d req, %d tok", c.Requests, c.PromptTokens+c.CompletionTokens)
	if c.Refused > 0 {
		text += fmt.Sprintf(", %d refused", c.Refused)
	}
	return text
}

func (r keyRow) last() string {
	if r.LastUsed.IsZero() {
		return "never"
	}
	return r.LastUsed.Local().Format("2006-01-02 15:04")
}
