package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"dure/inference"
	"dure/inference/catalog"
	"dure/inference/remote"
	"dure/runtime/budget"
	"dure/runtime/judge"
	"dure/runtime/swarm"
	"dure/runtime/tool"
)

// judgeFlags say who judges calls before they are carried out.
type judgeFlags struct {
	// Model is a role of the team, or an address with a model's name behind it; empty is
	// the role guard of models.yaml, and none where there is no such role.
	Model  string        `json:"model,omitempty"`
	Open   string        `json:"open,omitempty"`
	All    bool          `json:"all,omitempty"`
	Places string        `json:"places,omitempty"` // a file
	Time   time.Duration `json:"time,omitempty"`
}

func (j *judgeFlags) register(f *pflag.FlagSet) {
	f.StringVar(&j.Model, "judge-model", "", "who judges calls that the rules leave open: a role (lead, worker, ...), ADDRESS/v1/MODEL, or none (the role guard of models.yaml, if it is there)")
	f.StringVar(&j.Open, "judge-open", "", "without such a model, calls that are open: refuse, or allow (refused but for programs named by a variable)")
	f.BoolVar(&j.All, "judge-all", false, "the model judges every call that the rules let through, not only open ones")
	f.StringVar(&j.Places, "judge-places", "", "a YAML file with places of this repository: lists of globs by name (check, tests, judge, later, orders), and its own programs")
	f.DurationVar(&j.Time, "judge-time", time.Minute, "how long the model may take; a call without a verdict is not carried out")
}

// patience is how long a verdict may take. Rules alone need no time to speak of.
func (j judgeFlags) patience() time.Duration { return cmp.Or(j.Time, time.Minute) }

// rules are those that dure comes with, with the team's own places.
func (j judgeFlags) rules() (*judge.Rules, error) {
	if j.Places == "" {
		return judge.Builtin()
	}
	b, err := os.ReadFile(j.Places)
	if err != nil {
		return nil, fmt.Errorf("--judge-places: %w", err)
	}
	var places map[string][]string
	if err := yaml.UnmarshalWithOptions(b, &places, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("--judge-places %s: %w", j.Places, err)
	}
	r, err := judge.BuiltinWith(places)
	if err != nil {
		return nil, fmt.Errorf("--judge-places %s: %w", j.Places, err)
	}
	return r, nil
}

// thinker is the model that judges; ok is false where there is none.
func (j judgeFlags) thinker(cat *catalog.Catalog, m swarmModels, team map[swarm.Role]thinker) (who thinker, ok bool, err error) {
	switch {
	case j.Model == "none":
		return thinker{}, false, nil
	case j.Model == "":
		a, err := cat.Assigned(catalog.RoleGuard)
		if err != nil || !a.Given {
			return thinker{}, false, err
		}
		who, err := m.plain(cat, catalog.RoleGuard)
		return who, err == nil, err
	case slices.Contains(catalog.TeamRoles, j.Model):
		return team[swarm.Role(j.Model)], true, nil
	}
	base, name, found := strings.Cut(j.Model, "/v1/")
	if !found || name == "" || !strings.Contains(base, "://") {
		return thinker{}, false, fmt.Errorf("--judge-model %q: a role (%s), none, or an address with a model, as http://127.0.0.1:8484/v1/smollm2-135m", j.Model, strings.Join(catalog.TeamRoles, ", "))
	}
	at := remote.Endpoint{Base: base + "/v1", Model: name, Own: true}
	if at.Key, err = remote.ReadKey(os.LookupEnv, m.keyEnv, ""); err != nil {
		return thinker{}, false, err
	}
	model := remote.OpenAI(at, http.DefaultClient)
	return thinker{model: model, rate: rateOf(catalog.Assigned{Role: catalog.RoleGuard}, at), asks: model}, true, nil
}

// plain is the model of a role that is asked once: a judge who waits has said nothing.
func (m swarmModels) plain(cat *catalog.Catalog, role string) (thinker, error) {
	who, err := m.thinker(cat, role, nil)
	if err != nil {
		return thinker{}, fmt.Errorf("the model of the %s: %w", role, err)
	}
	if asked, ok := who.asks.(inference.Model); ok {
		who.model = asked
	}
	return who, nil
}

// openJudge makes the judge of the team's calls.
func (t *swarmTeam) openJudge(ctx context.Context, cat *catalog.Catalog) error {
	rules, err := t.o.calls.rules()
	if err != nil {
		return err
	}
	if err := judge.Open(t.o.calls.Open).Valid(); err != nil {
		return fmt.Errorf("--judge-open: %w", err)
	}
	if t.o.calls.Time < 0 {
		return errors.New("--judge-time must be above 0")
	}
	who, ok, err := t.o.calls.thinker(cat, t.o.models, t.models)
	if err != nil {
		return err
	}
	t.judge = &judge.Judge{Rules: rules, Open: judge.Open(t.o.calls.Open), All: t.o.calls.All}
	if ok {
		t.models[catalog.RoleGuard] = who
		t.tryJudge(ctx, who)
	}
	return nil
}

// tryTime is how long a model may take for all calls of its trial.
const tryTime = 2 * time.Minute

// tryJudge warns of a model that cannot judge: small ones say the same of every call.
func (t *swarmTeam) tryJudge(ctx context.Context, who thinker) {
	limited, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	j := judge.Judge{Rules: t.judge.Rules, Model: who.model}
	right, of, err := j.Trial(limited)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		t.logger.Warn("the model that judges calls does not answer; what is open is not carried out until it does", "model", guardName(who), "error", err)
	case right < of-1:
		t.logger.Warn(fmt.Sprintf("the model that judges calls judged %d of %d calls of its trial rightly: what it says is worth little, take a larger one or none", right, of), "model", guardName(who))
	}
}

// judging is the judge with its model, whose calls are on the team's account.
func (t *swarmTeam) judging() tool.Judge {
	if who, ok := t.models[catalog.RoleGuard]; ok {
		t.judge.Model = t.ledger.Model(who.model, catalog.RoleGuard)
	}
	return t.judge
}

// judgedBy says who judges calls.
func (t *swarmTeam) judgedBy() string {
	who, ok := t.models[catalog.RoleGuard]
	switch {
	case ok && t.o.calls.All:
		return fmt.Sprintf("rules, then %s for each that they let through", guardName(who))
	case ok:
		return fmt.Sprintf("rules, and %s where they leave a call open", guardName(who))
	case t.o.calls.Open == string(judge.OpenAllow):
		return "rules; what they leave open is carried out"
	}
	return "rules; what they leave open is refused, and its agent told why"
}

func guardName(who thinker) string {
	return cmp.Or(budget.Rate(who.rate).Model, who.model.Info().Name, "a model")
}
