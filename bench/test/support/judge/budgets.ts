/**
 * Where venues hold accounts to budgets and nothing else is wrong, no close fails, however many entries came before it.
 */
import type { TradeCheck } from "./evidence.js";

export const exitBudgets: TradeCheck = ({ trials, hasTrueBudgets }) => {
  if (!hasTrueBudgets) return [];
  return trials.flatMap(({ answers, key, kind }) => {
    if (kind !== "CLOSE" || answers.length === 0 || answers.some(({ success }) => success)) return [];
    const { code, reason, status } = answers[answers.length - 1] ?? { code: null, reason: null, status: 0 };
    return [`${key}: a close came to nothing with a small budget: ${status} ${code ?? ""} ${reason ?? ""}`.trim()];
  });
};
