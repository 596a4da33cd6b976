// Package testreport writes the results of tests of workflows (testrun.Report) in the forms that other programs read:
// JUnit XML, coverage as LCOV and as JSON, annotations and a summary for GitHub Actions.
//
// The writers are pure: the same report gives the same bytes. They write to what they are given, return its errors, and
// keep nothing. Long values are cut where a form is meant to be looked at.
package testreport
