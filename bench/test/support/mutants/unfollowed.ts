/** Drops holdings of a contract that the service does not follow on their way to the caller. */
import { UNFOLLOWED } from "../four-venues.js";
import { telling } from "./holdings.js";
import type { Plant } from "./planting.js";
import { hearing } from "./traffic.js";

export const UNFOLLOWED_PLANTS: readonly Plant[] = [
  {
    name: "positions in contracts that are not followed read as none",
    scene: "unfollowed",
    checks: ["close-all", "positions read"],
    seen: /holds \d+e-12 SOL/,
    wrong: () => ({
      room: (room) =>
        telling(room, async (_name, read) => {
          const positions = await read();
          if (!positions.ok) return positions;
          return { ...positions, value: positions.value.filter(({ symbol }) => symbol !== UNFOLLOWED) };
        }),
    }),
  },
  {
    name: "a close-all of some symbols forgets the one that is not followed",
    scene: "unfollowed",
    checks: ["close-all"],
    seen: /reported as CLOSED and holds \d+e-12 SOL/,
    wrong: () => ({
      client: hearing((body) => {
        const { symbols } = body as { readonly symbols?: readonly string[] };
        if (symbols !== undefined && symbols.length > 1) body["symbols"] = symbols.filter((one) => one !== UNFOLLOWED);
      }),
    }),
  },
];
