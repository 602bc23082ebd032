package sample

import (
	"errors"
	"math"
	"slices"
	"testing"

	"dure/inference"

	"pgregory.net/rapid"
)

func TestLogprobsAreTheLogSoftmax(t *testing.T) {
	s := must(t, inference.Params{TopP: 1, Logprobs: true, LogitBias: []inference.TokenBias{{Token: 0, Bias: -100}}})
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.SampledFrom([]float32{0, 1, nan, -inf, 20}), rapid.Float32Range(-40, 40), rapid.Float32Range(-20000, 20000))
		row := rapid.SliceOfN(value, 1, 300).Draw(t, "row")
		token := rapid.Int32Range(0, int32(len(row)-1)).Draw(t, "token")
		top := rapid.IntRange(-1, 25).Draw(t, "top")
		largest, sum := math.Inf(-1), 0.0
		for _, v := range row {
			if v == v {
				largest = max(largest, float64(v))
			}
		}
		got, err := s.Logprobs(row, token, top)
		if math.IsInf(largest, -1) {
			if !errors.Is(err, ErrNoToken) {
				t.Fatalf("error %v, want ErrNoToken", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var order []int32
		for i, v := range row {
			if v == v && !math.IsInf(float64(v), -1) {
				sum += math.Exp(float64(v) - largest)
				order = append(order, int32(i))
			}
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			return int(math.Copysign(1, float64(row[b]-row[a]))) * map[bool]int{true: 0, false: 1}[row[a] == row[b]]
		})
		order = order[:min(len(order), max(top, 0), inference.MaxTopLogprobs)]
		if len(got.Top) != len(order) || got.Token != token {
			t.Fatalf("%+v, want token %d and top %v", got, token, order)
		}
		for i, c := range append(slices.Clone(got.Top), got.Candidate) {
			if i < len(order) && c.Token != order[i] {
				t.Fatalf("place %d is token %d, want %d", i, c.Token, order[i])
			}
			want := float64(row[c.Token]) - largest - math.Log(sum)
			if !(want > inference.MinLogprob) {
				want = inference.MinLogprob
			}
			if math.Abs(float64(c.Logprob)-want) > 1e-6*max(1, math.Abs(want)) {
				t.Fatalf("logprob of %d is %v, want %v", c.Token, c.Logprob, want)
			}
		}
	})
}

func TestLogprobsOfInfinityAndOutside(t *testing.T) {
	s := must(t, inference.Params{TopP: 1, Logprobs: true})
	got, err := s.Logprobs([]float32{1, inf, 2, inf}, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	half := float32(math.Log(0.5))
	if got.Logprob != half || got.Top[0].Logprob != half || got.Top[1].Logprob != half || got.Top[2].Logprob != inference.MinLogprob {
		t.Errorf("%+v, want two halves and a rest of nothing", got)
	}
	for _, token := range []int32{-1, 2} {
		if _, err := s.Logprobs([]float32{1, 2}, token, 0); err == nil {
			t.Errorf("token %d of 2 has a logprob", token)
		}
	}
}

func TestFastExp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(negligible, 0).Draw(t, "x")
		if got, want := fastExp(x), math.Exp(x); math.Abs(got-want) > 1e-12*want {
			t.Fatalf("e^%v is %v, want %v", x, got, want)
		}
	})
	if fastExp(0) != 1 {
		t.Errorf("e^0 is %v", fastExp(0))
	}
}
