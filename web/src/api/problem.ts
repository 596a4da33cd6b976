/** What is wrong with one field of a request. */
export interface FieldProblem {
  pointer?: string;
  parameter?: string;
  detail: string;
  /** Where it is in a text that was sent, from 1. */
  line?: number;
  column?: number;
}

/** The body of an answer with an error. */
interface Body {
  code: string;
  title: string;
  detail?: string;
  request_id?: string;
  errors?: FieldProblem[];
}

/** Problem is an answer with an error (RFC 9457), or that there was none. */
export class Problem extends Error {
  readonly status: number;
  /** Code of the problem, as docs/reference/errors.md has them; "unreachable" when no answer came. */
  readonly code: string;
  readonly title: string;
  readonly requestId: string | undefined;
  readonly fields: readonly FieldProblem[];
  /** Seconds after which the server wants to be asked again; 0: it does not say. */
  readonly retryAfter: number;

  constructor(status: number, body: Body, retryAfter = 0) {
    super(body.detail ?? body.title);
    this.name = "Problem";
    this.status = status;
    this.code = body.code;
    this.title = body.title;
    this.requestId = body.request_id;
    this.fields = body.errors ?? [];
    this.retryAfter = retryAfter;
  }

  /** Asking again may help: the server is busy, restarts, or cannot be reached. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  static unreachable(): Problem {
    return new Problem(0, { code: "unreachable", title: "The server cannot be reached." });
  }

  static async of(answer: Response): Promise<Problem> {
    const after = Number(answer.headers.get("Retry-After") ?? 0);
    const retryAfter = Number.isFinite(after) ? after : 0;
    try {
      return new Problem(answer.status, (await answer.json()) as Body, retryAfter);
    } catch {
      // A proxy answers in its own words.
      return new Problem(
        answer.status,
        { code: "unknown", title: `${answer.status} ${answer.statusText}` },
        retryAfter,
      );
    }
  }
}
