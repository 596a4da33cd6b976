// Package handbook reads the pages of the documentation, and its tests run what they show against the
// built binary. Every fenced block of a page is tested or refused: a reader copies nothing that no test
// has run or checked.
//
// The first word behind the fence is the language, the second says what the block is:
//
//	sh                 is run, in order, by one bash for each page, in a fresh folder; it must succeed
//	sh exit N          is run as well, and must end with the exit code N
//	sh setup           is run as well; it is inside an HTML comment, so readers do not see it
//	text output        is what the block of sh before it prints; … stands for any text, and other lines
//	                   may lie between two that are shown
//	LANGUAGE save FILE is written to FILE in the page's folder before the next block of sh is run
//	LANGUAGE elsewhere needs something that a test does not have, such as systemd, Docker, Kubernetes or
//	                   a cloud: its syntax is checked, and the commands and settings of ours in it
//	json sample        shows what data looks like, as yaml sample does: its syntax is checked
//	text               is for reading
//	mermaid            is a diagram
//
// Blocks of definitions (`yaml workflow`, `json output` …) are run by package conformance, which reads
// pages with this package, too. On generated pages blocks of sh are taken as `sh elsewhere`.
//
// While a page is run, 127.0.0.1 is replaced by an address of the page's own in 127.0.0.0/8, and the
// folders /var/lib/chargehand, /etc/chargehand and /var/backups are below the folder of the page. The servers
// db.example.com, temporal.example.com and the bucket s3://chargehand-files are real ones of the test.
package handbook
