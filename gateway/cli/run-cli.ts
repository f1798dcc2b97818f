/**
 * One run of `unwind`: parses, asks the administration, prints, and gives the exit code. A secret goes to stdout alone;
 * what goes wrong goes to stderr and never holds one.
 */
import { CommanderError } from "commander";
import { AdminUnreachable } from "../admin/admin-client.js";
import { ask } from "./ask.js";
import type { CliAct, CliCall, CliTools } from "./cli-call.js";
import { CliFailure, EXIT_FAULT, EXIT_OK, EXIT_USAGE } from "./exit-codes.js";
import { printable } from "./output.js";
import { createProgram } from "./program.js";

export interface CliParts extends CliTools {
  readonly version: string;
  error(text: string): void;
}

/** Returns the exit code. */
export async function runCli(args: readonly string[], parts: CliParts): Promise<number> {
  const helpTexts: string[] = [];
  const run = (call: CliCall) => perform(call, parts);
  const program = createProgram({
    version: parts.version,
    out: (text) => helpTexts.push(text),
    error: (text) => parts.error(text),
    run,
    act: async (act) => await print(act, await act.run(parts), parts),
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return EXIT_OK;
  } catch (error) {
    if (error instanceof CommanderError) {
      for (const text of helpTexts) await parts.out(text);
      return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    }
    const failure = asFailure(error);
    parts.error(failureText(failure, args.includes("--json")));
    return failure.exitCode;
  }
}

async function perform(call: CliCall, parts: CliParts): Promise<void> {
  const admin = await parts.reach(call);
  let result: unknown;
  try {
    result = await ask(admin, call.op, call.params);
  } finally {
    await admin.close();
  }
  await print(call, result, parts);
}

/** A secret that could not be shown is lost: the key that it belongs to is named. */
async function print(call: Pick<CliAct, "json" | "textOf">, result: unknown, { out }: CliParts): Promise<void> {
  const text = call.json ? `${JSON.stringify(result)}\n` : call.textOf(result);
  try {
    await out(text);
  } catch {
    const keyId = keyIdOf(result);
    const rest = keyId === null ? "" : `; the secret of ${keyId} is lost: rotate or revoke that key`;
    throw new CliFailure(EXIT_FAULT, "OUTPUT_LOST", `it was done, but its result could not be written${rest}`);
  }
}

function keyIdOf(result: unknown): string | null {
  const key =
    typeof result === "object" && result !== null && "secret" in result && "key" in result ? result.key : null;
  return typeof key === "object" && key !== null && "keyId" in key ? String(key.keyId) : null;
}

function asFailure(error: unknown): CliFailure {
  if (error instanceof CliFailure) return error;
  if (error instanceof AdminUnreachable)
    return new CliFailure(
      EXIT_FAULT,
      "REPLY_LOST",
      `${error.message}. It may have been done: look at \`unwind audit\` before you repeat it`,
    );
  return new CliFailure(EXIT_FAULT, "INTERNAL", `unexpected ${error instanceof Error ? error.name : "error"}`);
}

function failureText({ code, message, details }: CliFailure, json: boolean): string {
  if (json) return `${JSON.stringify({ error: { code, message, details } })}\n`;
  const fields = Array.isArray(details["fields"]) ? details["fields"].map(fieldText) : [];
  return [`unwind: ${printable(message)} (${code})`, ...fields, ""].join("\n");
}

function fieldText(field: unknown): string {
  const { path, problem } = (typeof field === "object" && field !== null ? field : {}) as Record<string, unknown>;
  return `  ${printable(String(path))} ${printable(String(problem))}`;
}
