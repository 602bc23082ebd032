package schema

import (
	"maps"
	"slices"
)

// What the formats of JSON Schema are made of. Each is at least as strict as its
// standard, and bounded where the standard lets a part grow without end.
const (
	fullDate = `(?:\d\d(?:0[48]|[2468][048]|[13579][26])-02-29|(?:[02468][048]|[13579][26])00-02-29|` +
		`\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8])))`
	fullTime = `(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`
	timeSpan = `(?:\d{1,9}H(?:\d{1,9}M(?:\d{1,9}S)?)?|\d{1,9}M(?:\d{1,9}S)?|\d{1,9}S)`
	dateSpan = `(?:\d{1,9}Y(?:\d{1,9}M(?:\d{1,9}D)?)?|\d{1,9}M(?:\d{1,9}D)?|\d{1,9}D)`
	label    = `[A-Za-z0-9](?:-?[A-Za-z0-9]){0,16}`
	domain   = label + `(?:\.` + label + `){0,6}`
	atom     = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
	address  = "(?=[^@]{1,64}@)" + atom + `(?:\.` + atom + `)*@` + label + `(?:\.` + label + `){1,6}`
	octet    = `(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
	fourth   = octet + `(?:\.` + octet + `){3}`
	group    = `[0-9A-Fa-f]{1,4}`
	sixth    = `(?:(?:` + group + `:){7}` + group + `|(?:` + group + `:){1,7}:|(?:` + group + `:){1,6}:` + group +
		`|(?:` + group + `:){1,5}(?::` + group + `){1,2}|(?:` + group + `:){1,4}(?::` + group + `){1,3}|(?:` + group + `:){1,3}(?::` + group + `){1,4}` +
		`|(?:` + group + `:){1,2}(?::` + group + `){1,5}|` + group + `:(?::` + group + `){1,6}|:(?::` + group + `){1,7}|::)`
	// Characters of a URI: unreserved, percent-encoded, sub-delims, and what each part
	// adds.
	plainChar    = `(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})`
	pathChar     = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})`
	tailChar     = `(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})`
	authority    = `(?:` + domain + `|\[` + sixth + `\])(?::\d{1,4})?`
	uriTail      = `(?:\?` + tailChar + `*)?(?:#` + tailChar + `*)?`
	uriPath      = `(?:/` + pathChar + `*)*`
	uri          = `[A-Za-z][A-Za-z0-9+.-]{0,30}:(?://` + authority + uriPath + `|` + pathChar + `+` + uriPath + `|/(?:` + pathChar + `+` + uriPath + `)?)` + uriTail
	reference    = `(?://` + authority + uriPath + `|/(?:` + pathChar + `+` + uriPath + `)?|` + plainChar + `+` + uriPath + `)?` + uriTail
	pointer      = `(?:/(?:[^~/]|~[01])*)*`
	base64       = `(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?`
	templateChar = `(?:[A-Za-z0-9._~!$&()*+,;=@-]|%(?:[0-689A-Fa-f][0-9A-Fa-f]|7[0-9ACEFacef])|\{[+.;]?[A-Za-z0-9_]{1,60}\*?(?:,[A-Za-z0-9_]{1,60}\*?)*\})`
	template     = `(?:https?://` + domain + `(?:/` + templateChar + `+)*/?|/?` + templateChar + `+(?:/` + templateChar + `+)*/?)`
)

// formats are those that can be guaranteed, as patterns.
var formats = map[string]string{
	"date": "^" + fullDate + "$", "time": "^" + fullTime + "$", "date-time": "^" + fullDate + "T" + fullTime + "$",
	"duration":  `^P(?:` + dateSpan + `(?:T` + timeSpan + `)?|T` + timeSpan + `|\d{1,9}W)$`,
	"email":     "^" + address + "$",
	"idn-email": "^" + address + "$",
	"hostname":  "^" + domain + "$", "idn-hostname": "^" + domain + "$",
	"ipv4": "^" + fourth + "$", "ipv6": "^" + sixth + "$",
	"uri": "^" + uri + "$", "iri": "^" + uri + "$", "uri-reference": "^" + reference + "$", "iri-reference": "^" + reference + "$",
	"uri-template": "^" + template + "$",
	"uuid":         "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
	"json-pointer": "^" + pointer + "$", "relative-json-pointer": `^(?:0|[1-9]\d{0,9})(?:#|` + pointer + ")$",
	"byte": "^" + base64 + "$", // of OpenAPI
}

// numberFormats are OpenAPI's formats of numbers, as bounds. Those without bounds say
// nothing that JSON could break.
var numberFormats = map[string]struct{ low, high *bound }{
	"int32":  {at("-2147483648"), at("2147483647")},
	"int64":  {at("-9223372036854775808"), at("9223372036854775807")},
	"uint32": {at("0"), at("4294967295")},
	"uint64": {at("0"), at("18446744073709551615")},
	"float":  {}, "double": {}, "decimal": {},
}

func at(number string) *bound {
	d, err := parseDecimal(number)
	if err != nil {
		panic("schema: " + err.Error())
	}
	return &bound{decimal: d}
}

// looseFormats are names in use that say how a string is shown or meant, not what it
// may be.
var looseFormats = map[string]bool{
	"password": true, "binary": true, "text": true, "textarea": true, "markdown": true, "html": true, "color": true,
	"path": true, "file-path": true, "directory-path": true, "json-string": true,
}

var formatNames = slices.Sorted(maps.Keys(formats))
