package kv

import (
	"fmt"
	"strings"
)

// teller writes a chronicle of a place: people who own things and do something, and
// come back later with what was said of them.
type teller struct {
	dice
	people []person
	place  string
	facts  []string // sentences about what was, to be remembered
	day    int
}

type person struct{ name, trade, town, thing, spot string }

var (
	givenNames = strings.Fields("Anna Bram Clara Dirk Elsa Finn Greta Hugo Ida Jonas Klara Leo Mira Nils Olga Paul Rosa Simon Tilda Ulrich Vera Willem Xenia Yann Zoe Martha Gustav Helene Oskar Petra")
	trades     = strings.Fields("miller baker carpenter teacher doctor fisherman weaver smith gardener printer clockmaker shepherd librarian sailor mason painter")
	towns      = strings.Fields("Norwick Ashford Lindale Harrow Marsden Oakley Westby Selford Tarring Eastmoor Kilby Dunmere Ravensby Holt Arden Penrith")
	things     = strings.Fields("lantern ledger compass violin kettle map letter key clock blanket saddle telescope basket coin mirror chest ladder bell rope book")
	spots      = []string{"the old mill", "the cellar of the inn", "the tower by the gate", "the boathouse", "the attic of the school", "the barn behind the church", "the small stone bridge", "the market hall", "the ferry house", "the garden shed"}
	weathers   = []string{"It had rained since the early morning", "The fog did not lift before noon", "A warm wind came from the south", "The first snow lay on the roofs", "The sun had already gone behind the hills", "It was so quiet that one could hear the river", "The roads were still dry after the long summer"}
	feelings   = strings.Fields("tired cheerful worried curious angry relieved surprised proud silent hopeful")
	plans      = []string{"repair the roof before the winter", "sell the horses at the market", "build a new road to the coast", "open a school for the children of the farmers", "count the stores and write everything down", "ask the council for more time", "plant apple trees along the wall", "move the library to a larger house"}
	objections = []string{"there was not enough money", "nobody could be spared from the harvest", "the river had risen again", "the council had not yet agreed", "the last attempt had failed", "it was much too late in the year"}
	results    = []string{"In the end they decided to wait until spring.", "After a long talk they shook hands, and the work began on the next day.", "Nothing came of it, and the matter was forgotten for a while.", "To everyone's surprise it went well.", "It cost more than they had thought, but nobody complained."}
)

func newTeller(d dice) *teller {
	t := &teller{dice: d, place: d.of(towns), day: 1}
	names, owned := d.some(givenNames, 9), d.some(things, 9)
	for i, name := range names {
		t.people = append(t.people, person{name, d.of(trades), d.of(towns), owned[i], d.of(spots)})
	}
	return t
}

// next is a paragraph.
func (t *teller) next() string {
	var b strings.Builder
	if t.day == 1 {
		fmt.Fprintf(&b, "The Chronicle of %s\n\n", t.place)
	}
	if t.chance(30) {
		fmt.Fprintf(&b, "%s. ", t.of(weathers))
	}
	for range 3 + t.IntN(4) {
		b.WriteString(t.sentence())
		b.WriteByte(' ')
	}
	t.day += 1 + t.IntN(3)
	return strings.TrimSuffix(b.String(), " ") + "\n\n"
}

func (t *teller) who() (person, person) {
	i := t.Perm(len(t.people))
	return t.people[i[0]], t.people[i[1]]
}

func (t *teller) sentence() string {
	p, q := t.who()
	switch t.IntN(12) {
	case 0:
		return fmt.Sprintf("%s, the %s from %s, came to %s and was %s.", p.name, p.trade, p.town, t.place, t.of(feelings))
	case 1:
		return t.learn(fmt.Sprintf("%s kept the %s in %s", p.name, p.thing, p.spot))
	case 2:
		return fmt.Sprintf("%s wanted to %s, but %s said that %s. %s", p.name, t.of(plans), q.name, t.of(objections), t.of(results))
	case 3:
		return fmt.Sprintf("%q asked %s. %q answered %s, %q", "Where is the "+p.thing+"?", q.name, "You will find it in "+p.spot+",", p.name, "where it has always been.")
	case 4:
		return t.learn(fmt.Sprintf("%s paid %s crowns for the %s", q.name, t.number(2), t.of(things)))
	case 5, 6:
		return t.recall()
	case 7:
		return fmt.Sprintf("On day %d of that year %s and %s met in %s.", t.day, p.name, q.name, p.spot)
	case 8:
		return t.learn(fmt.Sprintf("%s was the best %s in %s", p.name, p.trade, p.town))
	case 9:
		return fmt.Sprintf("%s felt %s, because %s had promised to %s.", q.name, t.of(feelings), p.name, t.of(plans))
	case 10:
		return fmt.Sprintf("They spoke about the %s of %s, about the weather, and about how to %s.", p.thing, p.name, t.of(plans))
	}
	return fmt.Sprintf("In the evening %s walked with %s from %s to %s.", p.name, q.name, p.spot, q.spot)
}

// learn says something that may be remembered.
func (t *teller) learn(fact string) string {
	t.facts = append(t.facts, fact)
	return fact + "."
}

func (t *teller) recall() string {
	if len(t.facts) == 0 {
		return "Nobody could remember a year like this one."
	}
	p, _ := t.who()
	return fmt.Sprintf("%s remembered well that %s.", p.name, t.of(t.facts))
}
