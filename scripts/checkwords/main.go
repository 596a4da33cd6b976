// Command checkwords holds the repository to its words: it finds old words and phrases that
// scripts/words.txt lists, lines of prose above 120 characters in Go comments and Markdown,
// packages without a comment that says what they promise, and comments that begin with another
// identifier than the one below them.
//
//	go run ./scripts/checkwords            everything that is to be mended, by file and line
//	go run ./scripts/checkwords -count     how much there is, by word and by package
//	go run ./scripts/checkwords -all       also what the list excepts for the time being
//
// Arguments restrict it to files and folders.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

const listFile = "scripts/words.txt"

func main() {
	count := flag.Bool("count", false, "print counts by word and by package")
	all := flag.Bool("all", false, "ignore the exceptions for the time being")
	flag.Parse()
	findings, err := check(flag.Args(), *all)
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkwords:", err)
		os.Exit(2)
	}
	if *count {
		printCounts(findings)
		return
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		fmt.Printf("%d findings; %s says what each word stands for\n", len(findings), listFile)
		os.Exit(1)
	}
}

// check reads the list and every file of the repository, or those below the given paths.
func check(under []string, all bool) ([]finding, error) {
	text, err := os.ReadFile(listFile)
	if err != nil {
		return nil, err
	}
	list, err := parseList(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", listFile, err)
	}
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	c := checker{list: list, all: all}
	files := strings.Fields(string(out))
	for _, file := range files {
		if file == listFile || !below(file, under) {
			continue
		}
		content, err := os.ReadFile(file)
		if os.IsNotExist(err) || bytes.IndexByte(content, 0) >= 0 {
			continue // deleted and not committed, or no text
		}
		if err != nil {
			return nil, err
		}
		if err := c.file(file, content); err != nil {
			return nil, err
		}
	}
	c.packages()
	if len(under) == 0 {
		c.unneeded()
	}
	return c.findings, nil
}

func below(file string, under []string) bool {
	return len(under) == 0 || slices.ContainsFunc(under, func(folder string) bool {
		folder = path.Clean(folder)
		return folder == "." || file == folder || strings.HasPrefix(file, folder+"/")
	})
}

func printCounts(findings []finding) {
	byRule, byFolder := map[string]int{}, map[string]int{}
	for _, f := range findings {
		byRule[f.rule]++
		byFolder[path.Dir(f.file)]++
	}
	for _, counts := range []map[string]int{byRule, byFolder} {
		keys := make([]string, 0, len(counts))
		for key := range counts {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, func(a, b string) int {
			if counts[a] != counts[b] {
				return counts[b] - counts[a]
			}
			return strings.Compare(a, b)
		})
		for _, key := range keys {
			fmt.Printf("%6d  %s\n", counts[key], key)
		}
		fmt.Println()
	}
	fmt.Printf("%6d  in all\n", len(findings))
}
