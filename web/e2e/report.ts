import type { FullConfig, FullResult, Reporter, Suite, TestCase } from "@playwright/test/reporter";

/** Says last how many tests passed in each way, and fails when a way has none or when a test was skipped. */
export default class Report implements Reporter {
  #tests: TestCase[] = [];
  #ways: string[] = [];

  onBegin(config: FullConfig, suite: Suite): void {
    this.#tests = suite.allTests();
    const chosen = suite.suites.map((s) => s.title);
    this.#ways = partly() ? chosen : config.projects.map((p) => p.name);
  }

  // oxlint-disable-next-line require-await -- Playwright takes the status from a promise
  async onEnd(result: FullResult): Promise<{ status: FullResult["status"] }> {
    for (const { description } of this.#tests.flatMap((t) => t.results.flatMap((r) => r.annotations))) {
      console.log(`measured: ${description}`);
    }
    const left = this.#tests.filter((t) => t.outcome() === "skipped");
    for (const test of left) {
      console.log(`did not run: ${test.titlePath().filter(Boolean).join(" › ")}`);
    }
    const counts = this.#ways.map((way) => this.#passed(way));
    console.log(`\npassed in Chromium: ${this.#ways.map((way, i) => `${counts[i]} ${way}`).join(", ")}`);
    const incomplete = left.length > 0 || counts.length === 0 || counts.includes(0);
    return { status: result.status === "passed" && incomplete ? "failed" : result.status };
  }

  #passed(way: string): number {
    return this.#tests.filter((t) => t.parent.project()?.name === way && t.outcome() === "expected").length;
  }
}

/** Whether the command line chooses some of the tests. */
function partly(): boolean {
  return process.argv.some((a) => /\.spec\.ts(:\d+)?$|^(-g|--grep|--project|--last-failed)\b/.test(a));
}
