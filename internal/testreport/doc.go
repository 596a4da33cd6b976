// Package testreport has the forms of the results of tests of workflows (testrun.Report) for other programs: JUnit
// XML, coverage as LCOV and as JSON, annotations and a summary for GitHub Actions; and the JSON of a test and of its
// coverage (TestResult, TestCoverage), in which `chargehand test -o json` prints them and POST /workflows/test answers.
//
// All is pure: the same report gives the same bytes. Writers write to what they are given, return its errors, and keep
// nothing. JUnit and GitHub show at most 4,000 bytes of a value, and the summary lists at most 100 tests, because
// GitHub takes 1 MiB. TestResult has values whole: package testserve bounds them for answers.
package testreport
