/** A step after the newest one. It rewrites every row of a namespace, moves one and drops one. */
import { FORMAT_STEPS, type FormatStep } from "../state-format.js";

/** `onRow` is called after each row with the number of rows written. */
export function upperCase(onRow: (count: number) => void): FormatStep {
  return {
    format: (FORMAT_STEPS.at(-1)?.format ?? 0) + 1,
    name: "words in capitals",
    run(rows) {
      let count = 0;
      for (const { key, value } of [...rows.rows("words")]) {
        rows.put("words", key, Buffer.from(Buffer.from(value).toString("utf8").toUpperCase(), "utf8"));
        onRow(++count);
      }
      rows.put("moved", "first", Buffer.from("here", "utf8"));
      rows.remove("words", "0000");
    },
  };
}
