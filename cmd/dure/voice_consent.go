package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dure/audio"
	"dure/audio/consent"
	"dure/audio/realtime/wire"
)

// consents are the records below DURE_HOME.
func consents(home string) consent.Store {
	return consent.Store{Path: filepath.Join(home, "voice-consent.json")}
}

// Bounds of a recording of a voice that is to be imitated.
const (
	leastReference = 3 * time.Second
	mostReference  = 3 * time.Minute
)

func readReference(b []byte) (*audio.WAV, time.Duration, error) {
	w, err := audio.ReadWAV(bytes.NewReader(b), 48000*int(mostReference/time.Second))
	if err != nil {
		return nil, 0, err
	}
	long := time.Duration(len(w.PCM)) * time.Second / time.Duration(w.Rate)
	if long < leastReference || long > mostReference {
		return nil, 0, fmt.Errorf("it is %v long; %v to %v are expected", long.Round(time.Millisecond), leastReference, mostReference)
	}
	return w, long, nil
}

// imitate looks for the record of a recording's consent. That is all that can be done here:
// no engine imitates voices.
func imitate(store consent.Store) func(ctx context.Context, wav []byte, language string) error {
	return func(_ context.Context, wav []byte, language string) error {
		refuse := func(code, message string) error {
			return &wire.Error{Type: wire.TypeInvalid, Code: code, Param: "session.ref_audio", Message: message}
		}
		w, _, err := readReference(wav)
		if err != nil {
			return refuse(wire.CodeValue, "the recording cannot be used: "+err.Error())
		}
		if err := store.Check(consent.Sum(w), language); err != nil {
			var missing *consent.Missing
			if !errors.As(err, &missing) {
				err = errors.New("the records of consents cannot be read, so no voice is imitated")
			}
			return refuse("voice_consent_required", err.Error())
		}
		return refuse("engine_missing", "there is a consent, but none of the speech engines here imitates voices")
	}
}

func voiceConsentCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "consent", Short: "Keep who allowed their voice to be imitated", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Long: `A voice is imitated from a recording only where there is a record of a consent to that
very recording. A revocation holds at once. None of the engines that dure installs imitates
voices; clients that ask for it are refused, with a record or without one.`}
	cmd.AddCommand(consentAddCommand(), consentListCommand(), consentRevokeCommand())
	return cmd
}

func consentAddCommand() *cobra.Command {
	var r consent.Record
	var basis, evidence string
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "add FILE.wav", Short: "Record a consent to a recording of 3 seconds to 3 minutes", Args: cobra.ExactArgs(1),
		Example: "  dure voice consent add me.wav --subject 'Ada Lovelace' --basis own --purpose 'reading reports' --language en\n" +
			"  dure voice consent add you.wav --subject Charles --basis licence --evidence licence.pdf --purpose demo --for 720h",
		RunE: func(cmd *cobra.Command, args []string) error {
			home, err := homeDir()
			if err != nil {
				return err
			}
			b, err := readSmall(args[0], 128<<20)
			if err != nil {
				return err
			}
			w, long, err := readReference(b)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			r.SHA256, r.Seconds, r.Basis, r.EnteredBy = consent.Sum(w), long.Seconds(), consent.Basis(basis), person()
			if evidence != "" {
				b, err := readSmall(evidence, 128<<20)
				if err != nil {
					return err
				}
				sum := sha256.Sum256(b)
				r.Evidence = hex.EncodeToString(sum[:])
			}
			if lasts != 0 {
				r.Expires = time.Now().Add(lasts).UTC()
			}
			if err := consents(home).Add(r); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "recorded: %s, %s, for %s; `dure voice consent revoke %.12s` ends it\n", r.Subject, r.Basis, r.Purpose, r.SHA256)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Subject, "subject", "", "whose voice it is")
	f.StringVar(&basis, "basis", "", "own (it is your voice), licence (a written one) or public-domain")
	f.StringVar(&r.Purpose, "purpose", "", "what it may be used for")
	f.StringSliceVar(&r.Languages, "language", nil, "languages that it may be used for; any without")
	f.StringVar(&evidence, "evidence", "", "file of the licence; its hash is kept")
	f.DurationVar(&lasts, "for", 0, "how long it holds (720h); without: until it is revoked")
	return cmd
}

func readSmall(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: a regular file of at most %s is expected", path, size(most))
	}
	return os.ReadFile(path)
}

func consentListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the records", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := homeDir()
			if err != nil {
				return err
			}
			all, err := consents(home).List()
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(append([]consent.Record{}, all...))
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "RECORDING\tSUBJECT\tBASIS\tPURPOSE\tLANGUAGES\tENTERED\tSTATE")
			for _, r := range all {
				languages, state := "any", "holds"
				if len(r.Languages) > 0 {
					languages = strings.Join(r.Languages, ",")
				}
				switch {
				case !r.Revoked.IsZero():
					state = "revoked " + r.Revoked.Format(time.DateOnly)
				case !r.Expires.IsZero() && time.Now().After(r.Expires):
					state = "expired " + r.Expires.Format(time.DateOnly)
				case !r.Expires.IsZero():
					state = "until " + r.Expires.Format(time.DateOnly)
				}
				fmt.Fprintf(w, "%.12s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.SHA256, r.Subject, r.Basis, r.Purpose, languages, r.Entered.Format(time.DateOnly), state)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func consentRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke RECORDING", Short: "End the consents to a recording, at once", Args: cobra.ExactArgs(1),
		Example: "  dure voice consent revoke 3f0c9a21b7de",
		RunE: func(cmd *cobra.Command, args []string) error {
			home, err := homeDir()
			if err != nil {
				return err
			}
			n, err := consents(home).Revoke(args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "revoked %d\n", n)
			return nil
		},
	}
}
