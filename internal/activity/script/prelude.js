// What a script finds besides the language: console, process, timers and two modules. There
// is nothing of the host in it but the four functions below. Everything used after the script
// has started is taken now, because a script may replace any global.
(() => {
  "use strict";
  const { __write: write, __exit: hostExit, __resolve: resolve, __now: now } = globalThis;
  for (const name of ["__write", "__exit", "__resolve", "__now"]) delete globalThis[name];

  const AsyncFunction = (async () => {}).constructor;
  const { stringify, parse } = JSON;
  const { apply, ownKeys, defineProperty } = Reflect;
  const then = Promise.prototype.then;
  const ready = Promise.resolve();
  const text = String;
  const shared = Symbol.for("chargehand.modules");

  // One value as console shows it: texts as they are, errors with their stack, data as JSON.
  const show = (value) => {
    switch (typeof value) {
      case "string": return value;
      case "bigint": return `${value}n`;
      case "object": break;
      default: return text(value);
    }
    if (value === null) return "null";
    if (value instanceof Error) return showError(value);
    try {
      const json = stringify(value, (_, v) => {
        if (typeof v === "bigint") return `${v}n`;
        if (v instanceof Map) return [...v];
        if (v instanceof Set) return [...v];
        if (v instanceof Error) return showError(v);
        return v;
      });
      return json === undefined ? text(value) : json;
    } catch {
      return Object.prototype.toString.call(value);
    }
  };

  // The constructor of functions puts two lines before the first line of the script. Ten lines
  // tell where it was; more would push the message out of the tail of stderr that a fault shows.
  const place = (stack) =>
    stack.replace(/<input>:(\d+)/g, (_, line) => `script.js:${line - 2}`)
      .split("\n").filter((line) => line && !/<eval>|\(native\)/.test(line)).slice(0, 10).join("\n");

  const showError = (error) => {
    try {
      if (!(error instanceof Error)) return `Uncaught ${show(error)}`;
      const stack = typeof error.stack === "string" ? place(error.stack) : "";
      const cause = error.cause === undefined ? "" : `\n  cause: ${show(error.cause)}`;
      return `${error.name}: ${error.message}${stack ? "\n" + stack : ""}${cause}`;
    } catch {
      return "Uncaught value that cannot be shown";
    }
  };

  const format = (values) => {
    if (typeof values[0] !== "string" || values.length < 2) return values.map(show).join(" ");
    let next = 1;
    const first = values[0].replace(/%[sdifjoO%]/g, (directive) => {
      if (directive === "%%") return "%";
      if (next >= values.length) return directive;
      const value = values[next++];
      switch (directive) {
        case "%d": return text(Number(value));
        case "%i": return text(Math.trunc(Number(value)));
        case "%f": return text(parseFloat(value));
        default: return show(value);
      }
    });
    return [first, ...values.slice(next).map(show)].join(" ");
  };

  const out = (...values) => write(1, format(values) + "\n");
  const err = (...values) => write(2, format(values) + "\n");
  globalThis.console = {
    log: out, info: out, debug: out, dir: (value) => out(value), table: (value) => out(value),
    error: err, warn: err, trace: err,
    assert: (condition, ...values) => { if (!condition) err("Assertion failed" + (values.length ? ":" : ""), ...values); },
  };

  // An exit cannot be caught: the host stops the script while it turns here.
  const exit = (code) => {
    hostExit(code === undefined ? process.exitCode ?? 0 : code);
    for (;;);
  };
  const stream = (fd) => ({ fd, isTTY: false, write: (chunk) => { write(fd, text(chunk)); return true; } });
  const process = {
    argv: [], env: {}, exit, exitCode: undefined, platform: "chargehand", versions: {},
    stdin: { fd: 0, isTTY: false }, stdout: stream(1), stderr: stream(2),
    cwd: () => "/", nextTick: (task, ...values) => queueMicrotask(() => task(...values)),
    hrtime: { bigint: () => BigInt(Math.round(now() * 1e6)) },
  };
  globalThis.process = process;
  globalThis.performance = { now };

  let stdin = "";
  const utf8 = (encoding) => {
    const name = typeof encoding === "object" && encoding !== null ? encoding.encoding : encoding;
    return typeof name === "string" && /^utf-?8$/i.test(name);
  };
  const refuse = (path) => {
    throw new Error(`scripts have no files: ${show(path)} cannot be opened (readFileSync(0) reads stdin; use python or run.shell for files)`);
  };
  const fs = {
    readFileSync: (path, encoding) => {
      if (path !== 0 && path !== "/dev/stdin") refuse(path);
      if (utf8(encoding)) return stdin;
      return encode(stdin);
    },
    writeFileSync: (path, chunk) => {
      const fd = { "/dev/stdout": 1, "/dev/stderr": 2, 1: 1, 2: 2 }[path];
      if (fd === undefined) refuse(path);
      write(fd, text(chunk));
    },
    writeSync: (fd, chunk) => fs.writeFileSync(fd, chunk),
  };

  // UTF-8 without TextEncoder, which is not part of the language.
  const encode = (string) => {
    const bytes = unescape(encodeURIComponent(string));
    const buffer = new Uint8Array(bytes.length);
    for (let i = 0; i < bytes.length; i++) buffer[i] = bytes.charCodeAt(i);
    buffer.toString = (encoding) => (encoding === undefined || utf8(encoding) ? string : Uint8Array.prototype.toString.call(buffer));
    return buffer;
  };

  const modules = { fs, process };
  defineProperty(globalThis, shared, { value: modules });
  globalThis.require = (name) => {
    const found = modules[text(name).replace(/^node:/, "")];
    if (!found) throw new Error(`there is no module ${show(name)}: scripts have fs (stdin only) and process`);
    return found;
  };

  // ES2024 (T89) asks for what the engine lacks.
  defineProperty(Array, "fromAsync", {
    writable: true, configurable: true,
    value: async function fromAsync(items, map, self) {
      if (map !== undefined && typeof map !== "function") throw new TypeError("the mapping is no function");
      const made = typeof this === "function" ? new this() : [];
      const iterator = items[Symbol.asyncIterator] ?? items[Symbol.iterator];
      const list = iterator === undefined ? Array.prototype.values.call(Object(items)) : items;
      let length = 0;
      for await (const item of list) {
        made[length] = map === undefined ? item : await apply(map, self, [item, length]);
        length++;
      }
      made.length = length;
      return made;
    },
  });

  // Timers: the host asks when the next is due, waits, and asks again.
  let timers = [];
  let timerId = 0;
  const schedule = (task, delay, values, every) => {
    if (typeof task !== "function") throw new TypeError("a timer needs a function");
    const ms = delay > 1 ? Math.min(Number(delay), 2 ** 31) : 1;
    timers.push({ id: ++timerId, due: now() + ms, run: () => task(...values), every: every ? ms : 0 });
    return timerId;
  };
  const cancel = (id) => { timers = timers.filter((timer) => timer.id !== id); };
  globalThis.setTimeout = (task, delay, ...values) => schedule(task, delay, values, false);
  globalThis.setInterval = (task, delay, ...values) => schedule(task, delay, values, true);
  globalThis.setImmediate = (task, ...values) => schedule(task, 0, values, false);
  globalThis.clearTimeout = globalThis.clearInterval = globalThis.clearImmediate = cancel;
  globalThis.queueMicrotask ??= (task) => { apply(then, ready, [task]); };

  // Runs what is due and returns the milliseconds until the next is, 0 if there may be jobs
  // now, -1 if there is nothing to wait for.
  const tick = () => {
    const time = now();
    const due = timers.filter((timer) => timer.due <= time).sort((a, b) => a.due - b.due || a.id - b.id);
    for (const timer of due) {
      if (!timers.includes(timer)) continue;
      if (timer.every) timer.due = time + timer.every;
      else cancel(timer.id);
      try { timer.run(); } catch (error) { failed(error); }
    }
    if (due.length > 0) return 0;
    if (timers.length === 0) return -1;
    return Math.max(0, Math.min(...timers.map((timer) => timer.due)) - now());
  };

  // The host gets the end: with 0 and the value as JSON, or with a code and a message.
  const returned = (value) => {
    let json;
    try {
      json = value === undefined ? undefined : stringify(value);
    } catch (error) {
      resolve(1, `the returned value is no JSON: ${showError(error)}`);
      return;
    }
    resolve(0, json, process.exitCode ?? 0);
  };

  const failed = (error) => {
    resolve(1, showError(error));
  };

  // A syntax error in the one form may be none in the other: statements that import or export
  // make a module, return makes a function.
  const start = (code) => {
    let body;
    try {
      body = new AsyncFunction(code);
    } catch (error) {
      if (!(error instanceof SyntaxError) || !/(^|[^\w$.])(import|export)(?![\w$])/.test(code)) return failed(error);
    }
    // A job of its own, so that the host's clock is set before the script runs.
    apply(then, ready, [() => {
      if (body) return apply(then, body(), [returned, failed]);
      return apply(then, import("script.js"), [(namespace) => returned(namespace.default), failed]);
    }]);
  };

  globalThis.__failed = failed;
  globalThis.__start = (code, options) => {
    delete globalThis.__start;
    delete globalThis.__failed; // the host has it
    const { argv, env, variables, input } = parse(options);
    process.argv = argv;
    process.env = env;
    stdin = input;
    try {
      for (const name of variables ? ownKeys(variables) : []) {
        defineProperty(globalThis, name, { value: variables[name], writable: true, enumerable: true, configurable: true });
      }
    } catch (error) {
      return failed(new Error(`an argument cannot become a variable: ${error.message}`));
    }
    start(code);
  };
  return tick;
})()
