/** Exit codes of `unwind`, as docs/cli.md lists them. */
export const EXIT_OK = 0;
/** A fault, or an act whose outcome is not known. */
export const EXIT_FAULT = 1;
/** Wrong options, wrong parameters, or a wrong configuration: nothing was done. */
export const EXIT_USAGE = 2;
/** The service, or the store, refused: nothing was done. */
export const EXIT_REFUSED = 3;
/** No service answers and the store cannot be opened: nothing was done. */
export const EXIT_UNREACHABLE = 4;
/** `unwind reconcile`: all was compared, and differs. */
export const EXIT_DIFFERS = 5;
/** Likewise: something could not be compared. */
export const EXIT_UNREAD = 6;

/** Why a command ends without its result. `code` is stable; `message` is for people. */
export class CliFailure extends Error {
  override readonly name = "CliFailure";
  readonly exitCode: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(exitCode: number, code: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
    this.details = details;
  }
}
