/** One operation asked of an administration: its result, or a CliFailure with the exit code of the refusal. */
import type { Admin } from "../admin/admin-client.js";
import type { AdminOperation, AdminReply } from "../admin/protocol.js";
import { CliFailure, EXIT_FAULT, EXIT_REFUSED, EXIT_UNREACHABLE, EXIT_USAGE } from "./exit-codes.js";

const FAULTS: ReadonlySet<string> = new Set(["INTERNAL", "OUTCOME_UNKNOWN"]);
const BUSY: ReadonlySet<string> = new Set(["SHUTTING_DOWN", "TOO_MANY_CONNECTIONS", "OVERLOADED", "IDLE_TIMEOUT"]);

/** Rejects with CliFailure, or with AdminUnreachable where the reply was lost. */
export async function ask(
  admin: Admin,
  op: AdminOperation,
  params: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const reply = await admin.call(op, params);
  if (!reply.ok) throw refusal(reply);
  return reply.result;
}

function refusal({ code, message, details }: Extract<AdminReply, { ok: false }>): CliFailure {
  const exitCode = FAULTS.has(code)
    ? EXIT_FAULT
    : code === "INVALID_PARAMETERS"
      ? EXIT_USAGE
      : BUSY.has(code)
        ? EXIT_UNREACHABLE
        : EXIT_REFUSED;
  return new CliFailure(exitCode, code, message, details);
}
