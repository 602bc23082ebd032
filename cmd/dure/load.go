package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dure/inference/pool"
)

func loadCommand() *cobra.Command {
	var opt orderOptions
	var keep keepAlive
	cmd := &cobra.Command{
		Use: "load [MODEL]", Short: "Have a running server load a model, or bring back what `unload` took away", Args: cobra.MaximumNArgs(1),
		Long: `Have a running server load MODEL, and wait until it is ready. Others give way if it
does not fit beside them. Without a name, the models that ` + "`dure unload`" + ` took away come back.`,
		Example: "  dure load gemma-3-270m --keep-alive 1h\n  dure load        after `dure unload`",
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{}
			if cmd.Flags().Changed("keep-alive") {
				body["keep_alive"] = time.Duration(keep).String()
			}
			if len(args) == 0 {
				return opt.order(cmd, "/v1/dure/resume", nil)
			}
			return opt.order(cmd, "/v1/dure/models/"+url.PathEscape(args[0])+"/load", body)
		},
	}
	opt.register(cmd)
	cmd.Flags().Var(&keep, "keep-alive", "how long it stays loaded without a request: 10m, 90 (seconds), -1 = for ever; the model's own time if not given")
	return cmd
}

func unloadCommand() *cobra.Command {
	var opt orderOptions
	var now bool
	cmd := &cobra.Command{
		Use: "unload [MODEL]", Short: "Have a running server unload a model, or all to free the card", Args: cobra.MaximumNArgs(1),
		Long: `Have a running server unload MODEL when its requests have ended; the next request
loads it again. Without a name all models leave, and requests are refused until
` + "`dure load`" + `: the memory is for a game, or another program. Sessions are kept on disk
and go on where they were. With --now requests that run are ended.`,
		Example: "  dure unload gemma-3-270m\n  dure unload --now    give me the card\n  dure load            take it back",
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"now": now}
			if len(args) == 0 {
				return opt.order(cmd, "/v1/dure/pause", body)
			}
			return opt.order(cmd, "/v1/dure/models/"+url.PathEscape(args[0])+"/unload", body)
		},
	}
	opt.register(cmd)
	cmd.Flags().BoolVar(&now, "now", false, "do not wait for requests that run")
	return cmd
}

// orderOptions say which server is given an order.
type orderOptions struct {
	addr   string
	asJSON bool
}

func (o *orderOptions) register(cmd *cobra.Command) {
	serverFlag(cmd.Flags(), &o.addr, "the server")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
}

// order posts a body and prints what is loaded afterwards.
func (o *orderOptions) order(cmd *cobra.Command, path string, body map[string]any) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	status, err := poolOrder(ctx, http.MethodPost, o.addr, path, body)
	if err != nil {
		return err
	}
	if o.asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(status)
	}
	return printStatus(cmd.OutOrStdout(), status)
}

// poolOrder asks the server's pool for something; it answers with what is loaded.
func poolOrder(ctx context.Context, method, addr, path string, body map[string]any) ([]pool.Status, error) {
	var data []byte
	if method == http.MethodPost {
		if body == nil {
			body = map[string]any{}
		}
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	resp, err := send(ctx, method, addr, path, data)
	if err != nil {
		return nil, unreached(addr, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("server at %s: %w", addr, err)
	}
	var said struct {
		Data  []pool.Status
		Error struct{ Message string }
	}
	if err := json.Unmarshal(answer, &said); err != nil && resp.StatusCode == http.StatusOK {
		return nil, fmt.Errorf("server at %s: %w", addr, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(said.Error.Message + statusHint(resp.StatusCode, addr))
	}
	return said.Data, nil
}

func statusHint(code int, addr string) string {
	if code == http.StatusUnauthorized {
		return fmt.Sprintf(" (server at %s; set %s to a key with the admin right)", addr, envKeys)
	}
	return ""
}

// printStatus is the pool for people.
func printStatus(out io.Writer, all []pool.Status) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "no model is loaded")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tMEMORY\tREQUESTS\tWAITING\tLEAVES\tNOTE")
	for _, s := range all {
		memory := "-"
		if s.Bytes > 0 {
			memory = size(s.Bytes)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", s.Name, s.State, memory, s.Users, s.Queued, leaves(s), statusNote(s))
	}
	return w.Flush()
}

func leaves(s pool.Status) string {
	switch {
	case s.State != "loaded" || s.Users > 0 || s.Expires == 0:
		return "-"
	}
	return "in " + s.Expires.Round(time.Second).String()
}

func statusNote(s pool.Status) string {
	switch {
	case s.Paused:
		return "comes back with `dure load`"
	case s.Failures > 0 && s.Again > 0:
		return fmt.Sprintf("failed %d times lately, again in %s: %s", s.Failures, s.Again.Round(time.Second), s.Why)
	case s.Failures > 0:
		return fmt.Sprintf("failed %d times lately: %s", s.Failures, s.Why)
	case s.Shrunk > 0:
		return "made smaller to fit"
	case s.Pinned:
		return "pinned"
	}
	return ""
}
