package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"dure/inference"
	"dure/inference/remote"
)

type runOptions struct {
	hostOptions
	addr, system string
	maxTokens    int
	asJSON       bool
}

func runCommand() *cobra.Command {
	var opt runOptions
	cmd := &cobra.Command{
		Use:   "run [MODEL] [PROMPT...]",
		Short: "Talk to a model in the terminal",
		Long: `Talk to a model in the terminal. If a dure server answers at --addr its models
are used, otherwise the model is loaded for this conversation. With a PROMPT, or
with text piped in, one answer is written to standard output.

In the conversation /help lists the commands; Ctrl-C stops an answer, Ctrl-D
leaves.`,
		Example: "  dure run\n  dure run smollm2-135m Why is the sky blue?\n  cat report.txt | dure run smollm2-135m Summarise this:\n  dure run --json smollm2-135m hello",
		RunE:    func(cmd *cobra.Command, args []string) error { return runChat(cmd, args, opt) },
	}
	opt.register(cmd)
	cmd.Flags().Lookup("log-level").DefValue = "warn"
	cmd.Flags().Set("log-level", "warn")
	serverFlag(cmd.Flags(), &opt.addr, "a server to use if one answers there")
	cmd.Flags().StringVar(&opt.system, "system", "", "system message")
	cmd.Flags().IntVar(&opt.maxTokens, "max-tokens", 0, "longest answer in tokens; 0 = up to the end of the context")
	cmd.Flags().BoolVar(&opt.asJSON, "json", false, "write one event a line as JSON (with a prompt)")
	return cmd
}

func runChat(cmd *cobra.Command, args []string, opt runOptions) error {
	if err := opt.validate(); err != nil {
		return err
	}
	prompt, err := promptFrom(os.Stdin, args)
	if err != nil {
		return err
	}
	if opt.maxTokens < 0 {
		return fmt.Errorf("--max-tokens %d: must not be negative", opt.maxTokens)
	}
	if prompt == "" && opt.asJSON {
		return fmt.Errorf("--json needs a prompt: dure run --json MODEL PROMPT, or text piped in")
	}
	loading, stop := interruptible(cmd)
	m, params, done, err := findModel(loading, cmd, args, opt)
	stop()
	if err != nil {
		return err
	}
	defer done()
	params.MaxTokens = opt.maxTokens
	out := cmd.OutOrStdout()
	if prompt != "" {
		ctx, stop := interruptible(cmd)
		defer stop()
		return once(ctx, m, params, opt.system, prompt, opt.asJSON, out)
	}
	home, err := homeDir()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "/help lists the commands, Ctrl-D leaves")
	c := &chat{model: m, params: params, system: opt.system, out: out}
	return repl(cmd.Context(), c, filepath.Join(home, "history"))
}

// promptFrom joins the prompt of the command line and what is piped in. It is
// empty for a conversation.
func promptFrom(in *os.File, args []string) (string, error) {
	var parts []string
	if len(args) > 1 {
		parts = append(parts, strings.Join(args[1:], " "))
	}
	if !term.IsTerminal(int(in.Fd())) {
		text, err := io.ReadAll(in)
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		if len(strings.TrimSpace(string(text))) > 0 {
			parts = append(parts, string(text))
		} else if len(parts) == 0 {
			return "", fmt.Errorf("standard input is empty and there is no prompt: dure run MODEL PROMPT")
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

// findModel uses the server that is running, or loads the model here. done
// unloads what was loaded. Options that shape a load, and paths, mean a load of
// one's own.
func findModel(ctx context.Context, cmd *cobra.Command, args []string, opt runOptions) (m inference.Model, params inference.Params, done func(), err error) {
	asked := cmd.Flags().Changed("addr")
	if own := loadFlag(cmd); own == "" {
		m, params, err := serverModel(ctx, args, opt.addr)
		if m != nil || err != nil {
			return m, params, func() {}, err
		}
		if asked {
			return nil, params, nil, fmt.Errorf("no server answers at %s; start one with `dure serve`, or leave --addr out to load the model here", opt.addr)
		}
	} else if asked {
		return nil, params, nil, fmt.Errorf("--%s shapes a load of one's own, --addr names a server that has loaded already; give one of them", own)
	}
	return loadModel(ctx, args, opt)
}

// loadFlag is the first flag given that shapes a load.
func loadFlag(cmd *cobra.Command) string {
	for _, name := range shaping {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// serverModel is a model of the server at addr: the one named, or the server's
// default. It is nil where no server answers or it does not have the model.
func serverModel(ctx context.Context, args []string, addr string) (inference.Model, inference.Params, error) {
	params := inference.DefaultParams()
	resp, err := get(ctx, addr, "/v1/models")
	if isThere(err) {
		return nil, params, unreached(addr, err)
	}
	if err != nil {
		return nil, params, nil // nobody there
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		return nil, params, fmt.Errorf("the server at %s wants a key: set %s", addr, envKeys)
	}
	var list struct {
		Data []struct {
			ID   string `json:"id"`
			Dure struct {
				Default bool `json:"default"`
			} `json:"dure"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, params, fmt.Errorf("server at %s: %w", addr, err)
	}
	for _, m := range list.Data {
		if len(args) > 0 && m.ID == args[0] || len(args) == 0 && m.Dure.Default {
			fmt.Fprintf(os.Stderr, "using %s of the server at %s\n", m.ID, addr)
			if home, err := homeDir(); err == nil {
				if entry, err := resolve(home, []string{m.ID}); err == nil {
					params = entry.Defaults.Params()
				}
			}
			client, err := httpClient()
			if err != nil {
				return nil, params, err
			}
			key := strings.Join(apiKeys()[:min(1, len(apiKeys()))], "")
			return remote.New(serverURL(addr)+"/v1", key, m.ID, client), params, nil
		}
	}
	return nil, params, nil
}

// loadModel loads the model in a runner of our own.
func loadModel(ctx context.Context, args []string, opt runOptions) (m inference.Model, params inference.Params, done func(), err error) {
	home, err := homeDir()
	if err != nil {
		return nil, params, nil, err
	}
	entry, _, err := resolveLocal(home, args)
	if err != nil {
		if len(args) == 1 && strings.Contains(args[0], " ") {
			err = fmt.Errorf("%w\nif that was the prompt, name a model before it: dure run MODEL %q", err, args[0])
		}
		return nil, params, nil, err
	}
	h, err := newHost(ctx, opt.hostOptions, os.Stderr, entry)
	if err != nil {
		return nil, params, nil, err
	}
	m, _, err = h.open(ctx, entry.Name)
	if err != nil {
		h.close()
		return nil, params, nil, err
	}
	return seeded{m}, entry.Defaults.Params(), h.close, nil
}
