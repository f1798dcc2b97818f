/**
 * Why the service does not start: for the operator on stderr, never for a reply. Contains no configured value that may
 * be a secret.
 */
export class StartError extends Error {
  override readonly name = "StartError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.problems = problems;
  }
}
