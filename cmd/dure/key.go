package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/inference"
	"dure/inference/key"
)

func keyCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Say who may use the server, and how much of it",
		Long: `Say who may use the server, and how much of it.

Once the file of keys holds one, the server answers only requests that carry a key:
as "Authorization: Bearer KEY", or where an API has its own header, in that. A
running server takes changes within a second. The file has a hash of each key, not
the key.`,
		Example: `  dure key add laptop
  dure key add ci --model 'qwen*' --priority worker --rpm 60 --tpd 2000000 --concurrency 2
  dure key list
  dure key disable ci`,
	}
	cmd.PersistentFlags().StringVar(&file, "keys", "", "the file of keys; "+key.FileName+" in DURE_HOME if empty")
	cmd.AddCommand(keyAddCommand(&file), keyListCommand(&file), keyRemoveCommand(&file),
		keyStateCommand(&file, "disable", true), keyStateCommand(&file, "enable", false))
	return cmd
}

// keyFile is the file of keys that a flag names, or the one in DURE_HOME.
func keyFile(flag string) (string, error) {
	if flag != "" {
		return filepath.Abs(flag)
	}
	home, err := homeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, key.FileName), nil
}

// changeKeys changes the file that a flag names.
func changeKeys(ctx context.Context, flag string, change func([]key.Key) ([]key.Key, error)) (file string, err error) {
	if file, err = keyFile(flag); err != nil {
		return "", err
	}
	return file, key.Change(ctx, file, newLogger(os.Stderr, "info"), change)
}

// keyOptions are the flags of `dure key add`.
type keyOptions struct {
	models            []string
	priority, expires string
	admin             bool
	limits            key.Limits
}

func keyAddCommand(file *string) *cobra.Command {
	var opt keyOptions
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a key and print it, this once", Args: cobra.ExactArgs(1),
		Long: `Make a key and print it, this once: it is kept nowhere.

A limit that is not given is none. Limits are on sliding windows: in no minute, and in
no 24 hours, are more admitted than the number says. Tokens are those of prompt and
answer together, cached ones too. A request that asks for a priority above the key's is
refused; one that asks for none gets the key's.`,
		Example: `  dure key add laptop
  KEY=$(dure key add ci --model 'qwen*' --priority worker --rpm 60 --tpd 2000000 --expires 90d)
  dure key add me --admin`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			// As from a variable that is not set: without the flag it means no limit.
			for name, empty := range map[string]bool{"model": len(opt.models) == 0, "priority": opt.priority == "", "expires": opt.expires == ""} {
				if empty && cmd.Flags().Changed(name) {
					return fmt.Errorf("--%s is empty: give it a value, or leave it out for no limit", name)
				}
			}
			return addKey(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), *file, args[0], opt)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&opt.models, "model", nil, "a model that it may use; * stands for any characters; may be given several times; all if not given")
	f.StringVar(&opt.priority, "priority", "", "the highest priority of its requests: interactive, planner, merge, worker or background")
	f.Int64Var(&opt.limits.RequestsPerMinute, "rpm", 0, "requests a minute")
	f.Int64Var(&opt.limits.RequestsPerDay, "rpd", 0, "requests in 24 hours")
	f.Int64Var(&opt.limits.TokensPerMinute, "tpm", 0, "tokens a minute")
	f.Int64Var(&opt.limits.TokensPerDay, "tpd", 0, "tokens in 24 hours")
	f.Int64Var(&opt.limits.Concurrency, "concurrency", 0, "requests that wait or are answered at once")
	f.StringVar(&opt.expires, "expires", "", "when it ends to work: 90d, 12h, a last day (2027-01-31), or a time (2027-01-31T18:00:00Z)")
	f.BoolVar(&opt.admin, "admin", false, "it may also load, unload, pull and remove models, and stop others' requests")
	return cmd
}

func addKey(ctx context.Context, out, remarks io.Writer, flag, name string, opt keyOptions) error {
	now := time.Now()
	expires, err := expiry(opt.expires, now)
	if err != nil {
		return err
	}
	secret, hash := key.New()
	k := key.Key{
		Name: name, Hash: hash, Created: now.UTC().Truncate(time.Second), Expires: expires, Admin: opt.admin,
		Models: opt.models, Priority: inference.Priority(opt.priority), Limits: opt.limits,
	}
	if err := k.Validate(); err != nil {
		return err
	}
	first := false
	file, err := changeKeys(ctx, flag, func(keys []key.Key) ([]key.Key, error) {
		if i := findKey(keys, name); i >= 0 {
			return nil, fmt.Errorf("there is a key %q already, made on %s; remove it first, or choose another name", name, keys[i].Created.Local().Format(time.DateOnly))
		}
		first = len(keys) == 0
		return append(keys, k), nil
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, secret); err != nil {
		return fmt.Errorf("the key was made, but cannot be shown: %w; `dure key remove %s`, then add it again", err, name)
	}
	fmt.Fprintf(remarks, "this is the only time that the key is shown: %s has its hash\n", file)
	if first {
		fmt.Fprintln(remarks, "it is the first one: from now on a server with this file answers only requests with a key")
	}
	return nil
}

// expiry reads --expires; "" is never.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := parseExpiry(text, now)
	if err != nil {
		return at, fmt.Errorf("--expires %q: write for example 90d, 12h, 2027-01-31 or 2027-01-31T18:00:00Z", text)
	}
	if !at.After(now) {
		return at, fmt.Errorf("--expires %q: that is past", text)
	}
	return at.UTC().Truncate(time.Second), nil
}

func parseExpiry(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err == nil && (n < 0 || n > 100*366) {
			err = errors.New("too many days")
		}
		return now.AddDate(0, 0, n), err
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	if last, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return last.AddDate(0, 0, 1), nil // the day itself is the last one
	}
	return time.Parse(time.RFC3339, text)
}

func findKey(keys []key.Key, name string) int {
	return slices.IndexFunc(keys, func(k key.Key) bool { return k.Name == name })
}

// mustFind also says what there is instead.
func mustFind(keys []key.Key, name string) (int, error) {
	if i := findKey(keys, name); i >= 0 {
		return i, nil
	}
	if len(keys) == 0 {
		return -1, fmt.Errorf("there is no key %q, and no other", name)
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return -1, fmt.Errorf("there is no key %q; there are %s", name, strings.Join(names, ", "))
}

func keyRemoveCommand(file *string) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a key; what it used is forgotten 40 days later", Args: cobra.ExactArgs(1),
		Example: "  dure key remove ci",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			left := 0
			_, err := changeKeys(ctx, *file, func(keys []key.Key) ([]key.Key, error) {
				i, err := mustFind(keys, args[0])
				if err != nil {
					return nil, err
				}
				left = len(keys) - 1
				return slices.Delete(keys, i, i+1), nil
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "removed the key %q\n", args[0])
			if left == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "none is left: a running server lets nobody in until there is one; one that is started anew, on loopback, needs none")
			}
			return nil
		},
	}
}

func keyStateCommand(file *string, verb string, disabled bool) *cobra.Command {
	short := "Let a key work again"
	if disabled {
		short = "Make a key not work until it is enabled; its running requests go on"
	}
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Args: cobra.ExactArgs(1), Example: "  dure key " + verb + " ci",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			said := fmt.Sprintf("%sd the key %q\n", verb, args[0])
			_, err := changeKeys(ctx, *file, func(keys []key.Key) ([]key.Key, error) {
				i, err := mustFind(keys, args[0])
				if err != nil {
					return nil, err
				}
				if keys[i].Disabled == disabled {
					said = fmt.Sprintf("the key %q was %sd already\n", args[0], verb)
				}
				keys[i].Disabled = disabled
				if state := keys[i].State(time.Now()); !disabled && state != "active" {
					said += fmt.Sprintf("it does not work all the same: it is %s\n", state)
				}
				return keys, nil
			})
			if err == nil {
				fmt.Fprint(cmd.OutOrStdout(), said)
			}
			return err
		},
	}
}
