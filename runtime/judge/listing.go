package judge

import (
	"slices"
	"strings"
)

// listed is what a program that lists files prints, as far as it can be known without
// the files: a pattern that they meet, behind the mark of what is computed. All files
// of the repository are the pattern *. Empty: it lists no files.
func listed(program string, args []string, input string) string {
	all := func(patterns []string) string {
		if len(patterns) == 0 {
			return computed + "*"
		}
		return computed + strings.Join(patterns, "\n"+computed)
	}
	switch program {
	case "git":
		return listedByGit(args, all)
	case "find", "fd", "fdfind":
		return listedByFind(args, all)
	case "grep", "rg", "ag":
		if after, ok := strings.CutPrefix(input, computed+"*"); ok && program == "grep" && after == "" {
			return filtered(args)
		}
		if !slices.ContainsFunc(args, func(a string) bool {
			return a == "--files-with-matches" || a == "--files" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "l")
		}) {
			return ""
		}
		return all(valuesOf(args, "--include", "-g", "--glob"))
	case "sort", "uniq", "tr", "shuf", "tac":
		if strings.HasPrefix(input, computed) && len(input) > len(computed) {
			return input
		}
	case "ls":
		var names []string
		for _, a := range args {
			if !strings.HasPrefix(a, "-") {
				names = append(names, a)
			}
		}
		if len(names) > 0 {
			return all(names)
		}
		return computed + "./*"
	}
	return ""
}

func listedByGit(args []string, all func([]string) string) string {
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) == 0 || args[0] != "ls-files" {
		return ""
	}
	var patterns []string
	for _, a := range args[1:] {
		switch {
		case slices.Contains([]string{"-o", "-d", "-i", "-u", "-k", "--others", "--deleted", "--ignored", "--unmerged"}, a):
			return ""
		case !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, ":"):
			patterns = append(patterns, a)
		}
	}
	return all(patterns)
}

func listedByFind(args []string, all func([]string) string) string {
	patterns := valuesOf(args, "-name", "-iname", "-path", "-wholename", "-regex")
	for _, a := range args {
		if strings.HasPrefix(a, "-") && !slices.Contains([]string{"-name", "-iname", "-path", "-wholename", "-regex", "-type", "-print", "-print0", "-o", "-xdev"}, a) {
			return "" // a choice by something else
		}
	}
	if len(patterns) == 0 && len(args) > 0 && !slices.Contains([]string{".", "./", "/work", workspace}, args[0]) {
		return ""
	}
	return all(patterns)
}

// filtered is what grep leaves of all files.
func filtered(args []string) string {
	for _, a := range args {
		if strings.HasPrefix(a, "-v") || strings.Contains(a, "invert") {
			return computed + "*"
		}
		if !strings.HasPrefix(a, "-") {
			return computed + "*" + strings.Trim(strings.ReplaceAll(a, `\`, ""), "^$.*()")
		}
	}
	return ""
}

// valuesOf are the values of options, as the next argument or behind =.
func valuesOf(args []string, options ...string) []string {
	var all []string
	for i, a := range args {
		for _, o := range options {
			if value, ok := strings.CutPrefix(a, o+"="); ok {
				all = append(all, value)
			} else if a == o && i+1 < len(args) {
				all = append(all, args[i+1])
			}
		}
	}
	return all
}
