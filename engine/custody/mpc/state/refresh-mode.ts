/**
 * Which refresh a party's own state allows (docs/mpc.md, section 9). Each judges its own row, both must allow it. Modes
 * 1 and 2 need the operator's approval on both sides besides.
 */
import type { RefreshMode, StateRow } from "./state-row.js";

export function allowsRefresh(row: StateRow, mode: RefreshMode): boolean {
  if (row.stage !== "none") return false;
  switch (row.status) {
    case "new":
      return false;
    case "active":
    case "refreshDue":
      return mode === 0 || mode === 2;
    case "frozen":
      return mode === 1;
    case "restored":
      return mode === 1 || mode === 2;
  }
}
