package ollama

import (
	"context"
	"net/http"
	"strings"
	"time"

	"dure/inference/front"
	"dure/inference/front/strict"
)

// tagged is a name as clients of Ollama expect it: with a tag.
func tagged(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	return name + ":latest"
}

type wireDetails struct {
	Parent       string   `json:"parent_model"`
	Format       string   `json:"format"`
	Family       string   `json:"family"`
	Families     []string `json:"families"`
	Parameters   string   `json:"parameter_size"`
	Quantization string   `json:"quantization_level"`
}

func newDetails(d Details) wireDetails {
	w := wireDetails{Format: "gguf", Family: d.Architecture, Parameters: d.Parameters, Quantization: d.Quantization}
	if d.Architecture != "" {
		w.Families = []string{d.Architecture}
	}
	return w
}

type wireModel struct {
	Name     string      `json:"name"`
	Model    string      `json:"model"`
	Modified time.Time   `json:"modified_at"`
	Size     int64       `json:"size"`
	Digest   string      `json:"digest"`
	Details  wireDetails `json:"details"`
}

// tags answers GET /api/tags: the models whose files are here.
func (s *surface) tags(x *front.Exchange, _ *http.Request) error {
	all := []wireModel{}
	for _, l := range x.Listings() {
		d, err := s.catalogue.Describe(l.Name)
		if err != nil {
			return err
		}
		if d.Here {
			all = append(all, wireModel{tagged(l.Name), tagged(l.Name), d.Modified, d.Bytes, d.Digest, newDetails(d)})
		}
	}
	return x.JSON(http.StatusOK, map[string]any{"models": all})
}

// never is when a model leaves that stays for ever: clients take a time that is past for
// a model that is about to leave.
var never = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)

// ps answers GET /api/ps.
func (s *surface) ps(x *front.Exchange, _ *http.Request) error {
	type running struct {
		wireModel
		Expires time.Time `json:"expires_at"`
		VRAM    int64     `json:"size_vram"`
		Context int       `json:"context_length"`
	}
	all := []running{}
	for _, l := range s.catalogue.Loaded() {
		if !x.Allows(l.Name) {
			continue
		}
		d, err := s.catalogue.Describe(l.Name)
		if err != nil {
			return err
		}
		if l.Until.IsZero() {
			l.Until = never
		}
		all = append(all, running{wireModel{tagged(l.Name), tagged(l.Name), d.Modified, l.Bytes, d.Digest, newDetails(d)}, l.Until, l.Device, l.Context})
	}
	return x.JSON(http.StatusOK, map[string]any{"models": all})
}

// order is a body that names a model.
type order struct {
	model  string
	stream bool
}

var orderFields = strict.Fields[order]{
	"model":    strict.Text(func(r *order, s string) { r.model = s }),
	"name":     strict.Text(func(r *order, s string) { r.model = s }), // an older name
	"stream":   strict.Boolean(func(r *order, b bool) { r.stream = b }),
	"verbose":  strict.Boolean(func(*order, bool) {}),
	"insecure": strict.Only[order]("false", strict.IsFalse),
	"system":   strict.Only[order](`""`, strict.IsText("")),
	"template": strict.Only[order](`""`, strict.IsText("")),
	"options":  strict.Only[order]("{}", (*strict.Decoder).IsEmpty),
	"username": strict.Only[order](`""`, strict.IsText("")),
	"password": strict.Only[order](`""`, strict.IsText("")),
}

// readOrder returns the model that an order names, which need not be here.
func readOrder(x *front.Exchange, r *http.Request) (order, string, error) {
	o := order{stream: true}
	err := front.ReadInto(x, r, orderFields, &o, func(d *strict.Decoder, o *order) error {
		if o.model == "" {
			return d.Missing("model")
		}
		return nil
	})
	return o, plain(o.model), err
}

// show answers POST /api/show.
func (s *surface) show(x *front.Exchange, r *http.Request) error {
	o, name, err := readOrder(x, r)
	if err != nil {
		return err
	}
	d, err := s.catalogue.Describe(name)
	if err != nil {
		return notHere(o.model, err)
	}
	can := []string{}
	for _, c := range []struct {
		name string
		is   bool
	}{{"completion", !d.Embeds}, {"embedding", d.Embeds}, {"tools", d.Tools}, {"thinking", d.Thinks}} {
		if c.is {
			can = append(can, c.name)
		}
	}
	info := map[string]any{"general.architecture": d.Architecture}
	if d.Context > 0 {
		info[d.Architecture+".context_length"] = d.Context
	}
	if d.Embedding > 0 {
		info[d.Architecture+".embedding_length"] = d.Embedding
	}
	return x.JSON(http.StatusOK, map[string]any{
		"license": d.Licence, "modelfile": "", "parameters": "", "template": d.Template, "details": newDetails(d),
		"model_info": info, "capabilities": can, "modified_at": d.Modified,
	})
}

// pull answers POST /api/pull.
func (s *surface) pull(x *front.Exchange, r *http.Request) error {
	o, name, err := readOrder(x, r)
	if err != nil {
		return err
	}
	success := map[string]string{"status": "success"}
	if !o.stream {
		if err := s.catalogue.Pull(r.Context(), name, func(Progress) {}); err != nil {
			return notHere(o.model, err)
		}
		return x.JSON(http.StatusOK, success)
	}
	form := front.JSONLines(func(dst []byte, f *front.Failure) ([]byte, error) { return front.AppendLine(dst, wireFailure(f)) })
	return x.Stream(r, form, func(ctx context.Context, out *front.Stream) error {
		send := func(v any) error {
			line, err := front.AppendLine(nil, v)
			if err != nil {
				return err
			}
			return out.Send(line)
		}
		if err := send(map[string]string{"status": "pulling manifest"}); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var gone error
		err := s.catalogue.Pull(ctx, name, func(p Progress) {
			if gone != nil {
				return
			}
			if gone = send(newProgress(p)); gone != nil {
				cancel()
			}
		})
		switch {
		case gone != nil:
			return gone
		case err != nil:
			return notHere(o.model, err)
		}
		return send(success)
	})
}

type wireProgress struct {
	Status string `json:"status"`
	Digest string `json:"digest,omitempty"`
	Total  int64  `json:"total,omitempty"`
	Done   int64  `json:"completed,omitempty"`
}

func newProgress(p Progress) wireProgress { return wireProgress(p) }

// remove answers DELETE /api/delete.
func (s *surface) remove(x *front.Exchange, r *http.Request) error {
	o, name, err := readOrder(x, r)
	if err != nil {
		return err
	}
	if err := s.catalogue.Remove(r.Context(), name); err != nil {
		return notHere(o.model, err)
	}
	return x.JSON(http.StatusOK, struct{}{})
}

// copyOrder names a model and the further name that it gets.
type copyOrder struct{ source, destination string }

var copyFields = strict.Fields[copyOrder]{
	"source":      strict.Text(func(r *copyOrder, s string) { r.source = s }),
	"destination": strict.Text(func(r *copyOrder, s string) { r.destination = s }),
}

// copy answers POST /api/copy.
func (s *surface) copy(x *front.Exchange, r *http.Request) error {
	var o copyOrder
	err := front.ReadInto(x, r, copyFields, &o, func(d *strict.Decoder, o *copyOrder) error {
		switch {
		case o.source == "":
			return d.Missing("source")
		case o.destination == "":
			return d.Missing("destination")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.catalogue.Copy(plain(o.source), plain(o.destination)); err != nil {
		return notHere(o.source, err)
	}
	return x.JSON(http.StatusOK, struct{}{})
}
