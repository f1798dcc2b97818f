/**
 * Reporter of vitest: keeps the names of what has begun and not ended in the file RUNNING_TESTS_FILE, so that a run that
 * is cut off can be told by what held it.
 */
import { writeFileSync } from "node:fs";

const WRITE_EVERY_MS = 200;

export default class RunningTests {
  #names = new Map();
  #timer;

  onTestModuleStart({ moduleId }) {
    this.#begins(moduleId, moduleId);
  }

  onTestModuleEnd({ moduleId }) {
    this.#ends(moduleId);
  }

  onTestCaseReady({ id, module, fullName }) {
    this.#begins(id, `${module.moduleId} > ${fullName}`);
  }

  onTestCaseResult({ id }) {
    this.#ends(id);
  }

  onTestRunEnd() {
    clearTimeout(this.#timer);
    this.#write();
  }

  #begins(id, name) {
    this.#names.set(id, name);
    this.#writeSoon();
  }

  #ends(id) {
    this.#names.delete(id);
    this.#writeSoon();
  }

  #writeSoon() {
    this.#timer ??= setTimeout(() => this.#write(), WRITE_EVERY_MS);
  }

  #write() {
    this.#timer = undefined;
    const file = process.env.RUNNING_TESTS_FILE;
    if (file !== undefined) writeFileSync(file, JSON.stringify([...this.#names.values()]));
  }
}
