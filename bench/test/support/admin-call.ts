/** What an operator asks of a running service, over its admin socket. */
import { createSystemClock } from "../../../engine/domain/clock.js";
import { connectAdmin } from "../../../gateway/admin/admin-client.js";
import type { AdminOperation } from "../../../gateway/admin/protocol.js";

/** Resolves with the result. Rejects with the refusal, under the name of who was asked. */
export async function adminCall(
  [name, path]: readonly [name: string, path: string],
  op: AdminOperation,
  params: Readonly<Record<string, unknown>> = {},
): Promise<unknown> {
  const admin = await connectAdmin(path, createSystemClock());
  try {
    const reply = await admin.call(op, params);
    if (!reply.ok) throw new Error(`${name} ${op}: ${JSON.stringify(reply)}`);
    return reply.result;
  } finally {
    await admin.close();
  }
}
