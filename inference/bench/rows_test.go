package bench

import (
	"testing"

	"dure/inference/engine/enginetest"
)

func TestRowsOfARealModel(t *testing.T) {
	all, err := Rows(t.Context(), RowOptions{
		EngineDir: enginetest.Dir(t), ModelPath: enginetest.DemoModel(t), Threads: 1, Contexts: []int{20, 40}, Rows: []int{1, 4}, Repetitions: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 || all[1].Context != 20 || all[1].Rows != 4 || all[3].Context != 40 {
		t.Errorf("%+v", all)
	}
	for _, r := range all {
		if r.MS <= 0 || r.Won <= 0 || r.Rows == 1 && r.Won != 1 {
			t.Errorf("%+v", r)
		}
	}
}
