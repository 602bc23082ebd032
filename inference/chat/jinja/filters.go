package jinja

type filterFunc = func(*machine, Value, arguments) (Value, error)

// filters are what can follow "|".
var filters map[string]filterFunc

func init() { // not a literal: map, select and sort lead back here
	filters = map[string]filterFunc{
		// of text: filters_text.go
		"upper":      textFilter("upper", upper),
		"lower":      textFilter("lower", lower),
		"capitalize": textFilter("capitalize", capitalize),
		"title":      textFilter("title", jinjaTitle),
		"string":     filterString,
		"trim":       filterTrim,
		"replace":    filterReplace,
		"indent":     filterIndent,
		"center":     filterCenter,
		"truncate":   filterTruncate,
		"wordcount":  filterWordCount,
		"format":     filterFormat,
		"escape":     filterEscape,
		"e":          filterEscape,
		"safe":       filterSafe,
		"urlencode":  filterURLEncode,
		"tojson":     filterToJSON,
		// of numbers: filters_number.go
		"abs":   filterAbs,
		"int":   filterInt,
		"float": filterFloat,
		"round": filterRound,
		"sum":   filterSum,
		// of any value and of collections: filters_list.go
		"default":  filterDefault,
		"d":        filterDefault,
		"attr":     filterAttr,
		"length":   filterLength,
		"count":    filterLength,
		"first":    filterFirst,
		"last":     filterLast,
		"list":     filterList,
		"join":     filterJoin,
		"reverse":  filterReverse,
		"items":    filterItems,
		"dictsort": filterDictSort,
		"batch":    filterBatch,
		"slice":    filterSlice,
		// with a test: filters_select.go; with a key: filters_key.go
		"map":        filterMap,
		"select":     selecting("select", false, true),
		"reject":     selecting("reject", false, false),
		"selectattr": selecting("selectattr", true, true),
		"rejectattr": selecting("rejectattr", true, false),
		"sort":       filterSort,
		"unique":     filterUnique,
		"min":        extreme("min", -1),
		"max":        extreme("max", 1),
		"groupby":    filterGroupBy,
	}
}
