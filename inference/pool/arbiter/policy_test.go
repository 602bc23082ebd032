package arbiter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = tick(time.Millisecond)

// story is a policy with what it said, and a clock in ms.
type story struct {
	t      *testing.T
	policy *policy
	now    tick
	serial uint64
	lease  map[memberID]uint64 // serials of asks
}

// tell begins a story: slice 40 ms, age 200 ms, silent 1 s. Each member is its
// devices, a letter each; the first has id 1.
func tell(t *testing.T, rules Rules, members ...string) *story {
	t.Helper()
	rules, err := rules.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t, policy: newPolicy(rules), lease: map[memberID]uint64{}}
	for i, devices := range members {
		s.policy.join(memberID(i+1), fmt.Sprint("m", i+1), strings.Split(devices, ""))
	}
	s.policy.next(0) // slices are told
	return s
}

func (s *story) at(msec int64) *story { s.now = tick(msec) * ms; return s }

func (s *story) wants(id memberID, c Class) *story { return s.wantsDue(id, c, never) }

func (s *story) wantsDue(id memberID, c Class, due tick) *story {
	s.t.Helper()
	s.serial++
	s.lease[id] = s.serial
	if err := s.policy.wants(s.now, id, s.serial, c, due); err != nil {
		s.t.Fatal(err)
	}
	return s
}

func (s *story) done(id memberID, c Class, took int64) *story {
	s.t.Helper()
	if err := s.policy.done(s.now, id, s.lease[id], c, tick(took)*ms); err != nil {
		s.t.Fatal(err)
	}
	return s
}

func (s *story) says(want string) *story {
	s.t.Helper()
	var got []string
	for _, e := range s.policy.next(s.now) {
		text := fmt.Sprint([]string{"share", "grant", "recall", "stuck"}[e.kind], " ", e.to)
		if e.keep {
			text += " keep"
		}
		if e.kind == share {
			text += fmt.Sprint(" ", e.slice/ms)
		}
		got = append(got, text)
	}
	if g := strings.Join(got, ", "); g != want {
		s.t.Fatalf("at %d ms it says %q, want %q", s.now/ms, g, want)
	}
	return s
}

func TestAloneItCostsOneGrant(t *testing.T) {
	s := tell(t, Rules{}, "a", "b")
	s.wants(1, Prompt).says("grant 1 keep").at(5000).says("")
	s.wants(2, Decode).says("grant 2 keep").at(9000).says("")
	if w := s.policy.wake(); w != never {
		t.Errorf("wakes at %d", w)
	}
}

func TestSliceIsToldWhereADeviceIsShared(t *testing.T) {
	s := tell(t, Rules{Slice: 25 * time.Millisecond}, "a", "b")
	s.policy.join(3, "m3", []string{"b", "c"})
	s.says("share 2 25, share 3 25")
	s.policy.leave(2)
	s.says("share 3 0")
}

func TestKeptLeaseIsRecalledOnlyWhenWanted(t *testing.T) {
	s := tell(t, Rules{}, "a", "a")
	s.wants(1, Decode).says("grant 1 keep").at(100).says("")
	s.wants(2, Prompt).says("recall 1").at(101).says("")
	s.at(107).done(1, Decode, 8).says("grant 2 keep")
}

func TestClassesInOrder(t *testing.T) {
	s := tell(t, Rules{}, "a", "a", "a", "a")
	s.wants(1, Prompt).says("grant 1 keep")
	s.wants(2, Prompt).wants(3, Decode).wants(4, Voice).says("recall 1")
	s.at(40).done(1, Prompt, 40).says("grant 4")
	s.at(50).done(4, Voice, 10).says("grant 3")
	s.at(60).done(3, Decode, 10).says("grant 2 keep")
}

func TestTheFrameThatIsDueFirst(t *testing.T) {
	s := tell(t, Rules{}, "a", "a", "a")
	s.wants(1, Decode).says("grant 1 keep")
	s.wantsDue(2, Voice, 90*ms).wantsDue(3, Voice, 80*ms).says("recall 1")
	s.at(10).done(1, Decode, 10).says("grant 3")
	s.at(100).done(3, Voice, 20).says("grant 2 keep")
	if s.policy.stats.Late != 1 {
		t.Errorf("%d frames late, want that of 2", s.policy.stats.Late)
	}
}

// Who used more waits, an overrun included; time in which nobody waited is free.
func TestFairWithinAClass(t *testing.T) {
	s := tell(t, Rules{}, "a", "a", "a")
	s.wants(1, Prompt).says("grant 1 keep")
	s.at(1000).wants(2, Prompt).wants(3, Prompt).says("recall 1")
	s.at(1010).done(1, Prompt, 30).says("grant 2")
	s.at(1011).wants(1, Prompt).says("")
	s.at(1110).done(2, Prompt, 100).wants(2, Prompt).says("grant 3") // 3 used 0, 1 30, 2 100
	s.at(1120).done(3, Prompt, 10).wants(3, Prompt).says("grant 3")  // 3 used 10
	s.at(1150).done(3, Prompt, 30).wants(3, Prompt).says("grant 1")  // 3 used 40, 1 30
	if s.policy.stats.Overruns != 1 {
		t.Errorf("%d overruns, want the one of 100 ms", s.policy.stats.Overruns)
	}
}

// One that comes late is no better off than those that have used the device.
func TestLateComerHasNoCredit(t *testing.T) {
	s := tell(t, Rules{}, "a", "a", "a")
	s.wants(1, Prompt).wants(2, Prompt).says("grant 1")
	for i := range int64(10) {
		who := memberID(1 + i%2)
		s.at(40*i+40).done(who, Prompt, 40).wants(who, Prompt).says(fmt.Sprint("grant ", 3-who))
	}
	s.at(441).wants(3, Prompt).says("")
	s.at(480).done(1, Prompt, 40).says("grant 2")
	s.at(520).done(2, Prompt, 40).wants(2, Prompt).wants(1, Prompt).says("grant 3")
	s.at(560).done(3, Prompt, 40).wants(3, Prompt).says("grant 1")
}

func TestOneThatAgedGoesFirstOnce(t *testing.T) {
	s := tell(t, Rules{}, "a", "a", "a")
	s.wants(1, Decode).says("grant 1 keep")
	s.at(1).wants(3, Prompt).wants(2, Decode).says("recall 1")
	for i := range int64(5) { // two others keep the device busy
		who := memberID(1 + i%2)
		s.at(40*i+40).done(who, Decode, 40).wants(who, Decode).says(fmt.Sprint("grant ", 3-who))
	}
	s.at(240).done(2, Decode, 40).wants(2, Decode).says("grant 3")
	s.at(280).done(3, Prompt, 40).wants(3, Prompt).says("grant 1")
}

// Several have aged, but a frame lets only one of them pass.
func TestFrameIsPassedOnce(t *testing.T) {
	s := tell(t, Rules{}, "a", "a", "a", "a")
	s.wants(1, Decode).says("grant 1 keep")
	s.wants(2, Prompt).at(1).wants(3, Prompt).says("recall 1")
	s.at(290).wantsDue(4, Voice, 423*ms).says("")
	s.at(300).done(1, Decode, 300).says("grant 2")
	s.at(340).done(2, Prompt, 40).says("grant 4")
	s.at(350).done(4, Voice, 10).says("grant 3 keep")
}

func TestDeadHolderFreesTheDevice(t *testing.T) {
	s := tell(t, Rules{}, "a", "a", "a")
	s.wants(1, Prompt).says("grant 1 keep").wants(2, Decode).wants(3, Voice).says("recall 1")
	s.policy.leave(1)
	s.says("grant 3")
	s.policy.leave(2) // it waited
	s.at(10).done(3, Voice, 10).says("share 3 0")
	if s.policy.stats.Dead != 1 {
		t.Errorf("%d dead holders, want 1", s.policy.stats.Dead)
	}
}

func TestSilentHolderIsPassedOver(t *testing.T) {
	s := tell(t, Rules{}, "a", "a", "a")
	s.wants(1, Prompt).says("grant 1 keep").at(700).wants(2, Decode).says("recall 1")
	if w := s.policy.wake(); w != 1700*ms {
		t.Fatalf("wakes at %d ms, want a second after the recall", w/ms)
	}
	s.at(1699).says("").at(1700).says("stuck 1, grant 2 keep")
	s.at(1710).wants(3, Decode).says("recall 2").at(1720).done(2, Decode, 20).says("grant 3 keep")
	s.at(1730).done(1, Prompt, 1730).wants(1, Prompt).says("recall 3") // it is back
	s.at(1740).done(3, Decode, 10).says("grant 1 keep")
	if s.policy.stats.Stuck != 1 {
		t.Errorf("%d stuck, want 1", s.policy.stats.Stuck)
	}
}

// A lease that ends with its call is watched from the grant on, and a wait is no
// reason to presume anything where nobody waits any more.
func TestSilentUnkeptHolder(t *testing.T) {
	s := tell(t, Rules{}, "a", "a")
	s.wants(1, Prompt).wants(2, Prompt).says("grant 1")
	s.policy.leave(2)
	if s.policy.wake() != never {
		t.Error("it wakes although nobody waits")
	}
	s.at(2000).says("share 1 0")
	s.policy.join(3, "m3", []string{"a"})
	s.says("share 1 40, share 3 40").wants(3, Voice).says("stuck 1, grant 3 keep")
}

// One on two devices gets them: the ones behind it leave what it waits for alone.
func TestManyDevicesAreReserved(t *testing.T) {
	s := tell(t, Rules{}, "a", "b", "ab", "b")
	s.wants(1, Decode).wants(2, Prompt).says("grant 1 keep, grant 2 keep")
	s.wants(3, Decode).wants(4, Prompt).says("recall 1, recall 2")
	s.at(10).done(2, Prompt, 10).wants(2, Prompt).says("") // a is in use: b waits with it
	s.at(20).done(1, Decode, 20).says("grant 3")
	s.at(30).done(3, Decode, 10).says("grant 4")
}

func TestSeveralHolders(t *testing.T) {
	s := tell(t, Rules{Holders: 2}, "a", "a", "a")
	s.wants(1, Prompt).wants(2, Prompt).wants(3, Prompt).says("grant 1, grant 2")
	s.at(10).done(2, Prompt, 10).says("grant 3 keep")
}

func TestAskMayOvertakeTheReturn(t *testing.T) {
	s := tell(t, Rules{}, "a", "a")
	s.wants(1, Decode).says("grant 1 keep").wants(2, Decode).says("recall 1")
	before := s.lease[1]
	s.wants(1, Decode).says("")
	if err := s.policy.done(s.now, 1, before, Decode, 0); err != nil {
		t.Fatal(err)
	}
	s.says("grant 1") // nothing was used by either: the one that came first
}

func TestProtocolIsKept(t *testing.T) {
	for name, do := range map[string]func(*policy) error{
		"twice":    func(p *policy) error { p.wants(0, 1, 1, Voice, 1); return p.wants(0, 1, 2, Voice, 1) },
		"nothing":  func(p *policy) error { return p.done(0, 1, 1, Voice, 0) },
		"another":  func(p *policy) error { p.wants(0, 1, 1, Voice, 1); p.next(0); return p.done(0, 1, 2, Voice, 0) },
		"too soon": func(p *policy) error { p.wants(0, 1, 1, Voice, 1); return p.done(0, 1, 1, Voice, 0) },
	} {
		if err := do(tell(t, Rules{}, "a").policy); !errors.Is(err, errProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRules(t *testing.T) {
	for _, r := range []Rules{{Slice: -1}, {Silent: time.Millisecond}, {Age: -1}, {Holders: -1}, {Slice: time.Hour}} {
		if _, err := r.withDefaults(); err == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

func TestStats(t *testing.T) {
	s := tell(t, Rules{}, "a", "a", "b")
	s.wants(1, Decode).says("grant 1 keep").wants(2, Voice).says("recall 1").at(30).done(1, Decode, 30).says("grant 2 keep")
	got := s.policy.snapshot()
	if got.Members != 3 || got.Shared != 2 || got.Holding != 1 {
		t.Errorf("%+v", got)
	}
	w := got.Waits[Voice]
	if w.Count != 1 || w.Sum != 30*time.Millisecond || w.Most != w.Sum {
		t.Errorf("%+v", w)
	}
	if i := slices.Index(w.UpTo[:], 1); WaitBounds[i] != 40*time.Millisecond {
		t.Errorf("30 ms are counted up to %v", WaitBounds[i])
	}
}
