// Package testrun runs tests of workflows (package testfile) on the machine alone: Runner.Run reads test files and the
// definitions that they name, plays the world around each execution by its mocks on a virtual clock (package rehearse),
// compares what came out with what was expected, and gives a Report that holds what every form of output needs.
//
// What holds:
//
//   - Nothing reaches the network and no process is started, unless a mock says `real` and Config.Real has a runner for
//     the kind. Files are read by Config.ReadFile alone; what is to be written is in File.Snapshots.
//   - The same files give the same report, but for the time that it took: ids, jitter and order follow from the names
//     of the tests.
//   - A call, process, human task or workflow without a mock is an error of the test, and so is a list of answers that
//     is used up.
//   - A test fails when something else came out than it expects. It is broken (Broken) when it could not be run to an
//     end: a mock is missing, an answer is wrong, nothing is left to happen. A file is wrong when it, or what it names,
//     cannot be used: none of its tests is run.
//
// Tests run side by side, Config.Jobs at a time; a Report has them in the order of the files.
package testrun
