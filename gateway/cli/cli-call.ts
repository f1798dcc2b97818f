/** What the commands of `unwind` make of a command line; how it is done and printed is in run-cli.ts. */
import type { Admin } from "../admin/admin-client.js";
import type { AdminOperation } from "../admin/protocol.js";

/** Which administration is asked. */
export interface AdminPlace {
  /** The command may begin a store where there is none. */
  readonly creates: boolean;
  /** Folder of the co-signer whose own socket is asked; null: the service. */
  readonly cosigner: string | null;
}

/** One operation of the administration. */
export interface CliCall extends AdminPlace {
  readonly op: AdminOperation;
  readonly params: Readonly<Record<string, unknown>>;
  readonly json: boolean;
  textOf(result: unknown): string;
}

export interface CliTools {
  /** Rejects with CliFailure. */
  reach(place: AdminPlace): Promise<Admin>;
  /** Rejects where the text could not be written. */
  out(text: string): Promise<void>;
  /** Resolves once the operator wants the process to end. */
  untilStopped(): Promise<void>;
}

/** A command that is more than one operation, or none. */
export interface CliAct {
  readonly json: boolean;
  run(tools: CliTools): Promise<unknown>;
  textOf(result: unknown): string;
}

export interface ProgramParts {
  readonly version: string;
  /** What commander prints: help and version to `out`, refusals to `error`. */
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
  run(call: CliCall): Promise<void>;
  act(act: CliAct): Promise<void>;
}

export type Options = Readonly<Record<string, unknown>>;

export const JSON_FLAG = "--json";
export const JSON_TEXT = "one JSON document on stdout; failures as JSON on stderr";
export const COSIGNER_FLAG = "--cosigner <folder>";
export const COSIGNER_TEXT = "ask the running co-signer of this folder, not the service";

export function call(
  op: AdminOperation,
  params: Readonly<Record<string, unknown>>,
  options: Options,
  textOf: (result: unknown) => string,
): CliCall {
  return { op, params, json: options["json"] === true, creates: false, cosigner: cosignerOf(options), textOf };
}

export function cosignerOf(options: Options): string | null {
  return typeof options["cosigner"] === "string" ? options["cosigner"] : null;
}

export function defined(members: Options): Options {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
