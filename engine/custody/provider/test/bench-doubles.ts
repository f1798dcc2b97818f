/** The co-signer's day book and a worker's port, for tests. */
import type { Reservation } from "../../mpc/sessions/effects.js";
import { textIntents } from "../../mpc/test/link.js";
import type { DayBook } from "../day-book-port.js";
import type { SessionRunner } from "../session-runner.js";

/** Notes each reservation by its text; `judged` gets the digests that the policy let pass. */
export function plainDayBook(judged: string[]): DayBook {
  const row = (key: string, value: string) => [{ namespace: "day", key, value: Buffer.from(value) }];
  const keyOf = (reservation: Reservation) => String(reservation["text"]);
  return {
    reader: () => ({
      read: (intent) => {
        const read = textIntents.read(intent);
        if (read === null) return null;
        const digest = Buffer.from(read.digest).toString("hex");
        return {
          digest: read.digest,
          judge: () => {
            const verdict = read.judge();
            if (verdict.allowed) judged.push(digest);
            return verdict;
          },
        };
      },
    }),
    writeOf: (_walletId, reservation) => row(keyOf(reservation), "reserved"),
    releaseOf: (_walletId, reservation) => row(keyOf(reservation), "released"),
    spentOf: () => row("all", "spent"),
  };
}

/** As a worker has it: nothing but what structured clone carries crosses. */
export function cloning<Request>(runner: SessionRunner<Request>): SessionRunner<Request> {
  return {
    open: async (id, request) => structuredClone(await runner.open(id, structuredClone(request))),
    receive: async (id, message) => structuredClone(await runner.receive(id, structuredClone(message))),
    end: async (id, cause) => structuredClone(await runner.end(id, cause)),
    abandon: (id) => runner.abandon(id),
    close: () => runner.close(),
  };
}
