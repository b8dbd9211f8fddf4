// One operation: what it is, a form for its input, and what it answers.
import { h, button, codes, prose, coloured, copier, modal, parsed, pretty } from "./dom.js";
import { any, form, show } from "./form.js";
import { request, curl, events } from "./call.js";

const MAX_EVENTS = 1000, MAX_SHOWN = 1e6; // characters of an answer
const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// Asks before something is changed for good.
const confirmed = (op) => new Promise((done) => {
	const dialog = modal(`Run ${op.id}?`, h("p", "It changes or deletes data for good."), h("div.actions",
		button("Cancel", () => dialog.close()), button("Run it", () => (done(true), dialog.close()), ".danger")));
	dialog.addEventListener("close", () => done(false));
});

// The access rule of an operation.
function access({ x, raw }) {
	const { requiredScopes: all = [], requiredScopesAny: some = [], resourceType } = x.accessControl || {};
	const needs = [all.length && codes(all), some.length && ["one of ", codes(some)], resourceType && ["rights on a ", codes([resourceType])]].filter(Boolean);
	return [needs[0] && h("p", "Needs ", needs.map((one, i) => [i ? " and " : "", one])),
		x.denied && h("p.denied", "You may not call this: " + x.denied), raw.deprecated && h("p.denied", "Deprecated.")];
}

// The input, as fields or as JSON: { element, get(), show(issues) }.
function inputOf(op) {
	if (!op.isJson) {
		const file = h("input", { type: "file", "aria-label": op.media });
		return { element: file, get: () => file.files[0], show() {} };
	}
	const place = h("div", { id: "input", role: "tabpanel" });
	let node, isRaw;
	const tabs = ["Form", "JSON"].map((name, i) => button(name, () => turn(Boolean(i)), "", name, { role: "tab", "aria-controls": "input" }));
	const turn = (to) => {
		try {
			const value = node?.get();
			isRaw = to;
			node = to ? any("JSON", {}, false, value) : op.schema ? form(op.schema, op.find, value) : { element: h("p.none", "It takes no input."), get() {} };
		} catch (error) {
			return show(error.node, [error]);
		}
		place.replaceChildren(node.element);
		tabs.forEach((tab, i) => tab.setAttribute("aria-selected", isRaw === Boolean(i)));
	};
	turn(false);
	return { element: [op.schema && h("div.tabs", { role: "tablist", "aria-label": "Input" }, tabs), place], get: () => node.get(),
		show: (issues) => show(node, isRaw ? issues.map((one) => ({ message: (one.path || "") + " " + one.message })) : issues) };
}

// Why a call was refused, and what would help.
function refusal(response, problem, session) {
	const scopes = problem?.details?.requiredScopes, isKnown = session.credentials, why = response.status === 401 ? isKnown ? "These credentials are not accepted." : "This needs credentials."
		: scopes ? ["You lack ", codes(scopes)] : "You may not call this.";
	return h("p.denied", why, " ", button("Sign in" + (isKnown ? " as somebody else" : ""), session.signIn, ".quiet"));
}

const statusOf = (response, since) => [h(response.ok ? "b.ok" : "b.bad", null, `${response.status} ${response.statusText}`),
	h("span", `${Math.round(performance.now() - since)} ms`)];
const headersOf = (response) => h("details", h("summary", "Headers"),
	h("dl", [...response.headers].map(([name, value]) => [h("dt", name), h("dd", value)])));

// Shows a whole answer; returns the issues that it tells.
async function whole(response, since, head, place, session) {
	const text = await response.text(), isJson = /[/+]json/.test(response.headers.get("content-type"));
	const { value } = isJson ? parsed(text) : {}, shown = (value === undefined ? text : pretty(value)).slice(0, MAX_SHOWN);
	head.replaceChildren(...statusOf(response, since), h("span", count(text.length, "character")));
	if (text) head.previousSibling.append(copier(() => text));
	const problem = !response.ok && value;
	place.append(...[/40[13]/.test(response.status) && refusal(response, problem, session), problem && h("p", problem.detail),
		text && h("pre", { tabindex: 0, "aria-label": "Body" }, isJson ? coloured(shown) : shown), headersOf(response)].filter(Boolean));
	return problem?.code === "VALIDATION_ERROR" && Array.isArray(problem.details) ? problem.details : [];
}

// Shows events as they come.
async function live(response, since, head, place) {
	const rows = h("ol", { tabindex: 0, "aria-label": "Events" });
	const number = h("span"), state = h("b.live", "live");
	let total = 0, waiting = [], over = ["connection lost", "bad"];
	head.replaceChildren(...statusOf(response, since), state, number);
	place.append(rows, headersOf(response));
	const flush = () => {
		const follows = rows.scrollTop + rows.clientHeight > rows.scrollHeight - 9;
		rows.append(...waiting);
		waiting = [];
		while (rows.childElementCount > MAX_EVENTS) rows.firstChild.remove();
		number.textContent = count(total, "event") + (total > MAX_EVENTS ? `, the last ${MAX_EVENTS} shown` : "");
		if (follows) rows.scrollTop = rows.scrollHeight;
	};
	try {
		await events(response, ({ event, id, data }) => {
			const value = parsed(data).value;
			if (event === "end") over = ["ended", "", value?.reason];
			else if (event === "problem") over = [value?.code, "bad", value?.detail];
			else {
				total++;
				waiting.push(h("li", h("time", `${((performance.now() - since) / 1000).toFixed(2)} s`), event && h("b", event), id && h("i", id), coloured(data)));
				if (waiting.length > MAX_EVENTS) waiting.shift();
				else if (waiting.length === 1) setTimeout(flush, 16);
			}
		});
	} catch (error) {
		if (error.name === "AbortError") over = ["stopped", ""];
	}
	flush();
	[state.textContent, state.className] = over;
	if (over[2]) rows.before(h("p", over[2]));
	return [];
}

// The view of an operation; `session` has the credentials.
export function view(op, session) {
	const line = h("pre", { tabindex: 0, "aria-label": "curl" }), head = h("p.head", { role: "status" }), body = h("div");
	const input = inputOf(op), made = () => request(op, input.get(), session.credentials);
	const go = h("button.primary", { type: "submit" }, op.streams ? "Subscribe" : "Call");
	const stop = button("Stop", () => running.abort(), ".danger");
	let running;
	const turn = (controller) => {
		running = controller;
		stop.hidden = !running;
		go.disabled = Boolean(running);
	};
	const refresh = () => {
		try {
			line.textContent = curl(made(), session.credentials);
		} catch { /* it is being written */ }
	};
	const call = async (event) => {
		event.preventDefault();
		const since = performance.now();
		let sent, issues = [];
		try {
			sent = made();
		} catch (error) {
			return input.show([error]);
		}
		if (running || op.x.destructive && !await confirmed(op)) return;
		turn(new AbortController());
		head.previousSibling.replaceChildren("Answer");
		head.replaceChildren("waiting…");
		body.replaceChildren();
		try {
			const response = await fetch(sent.url, { ...sent, signal: running.signal });
			const isStream = response.ok && /event-stream/.test(response.headers.get("content-type"));
			issues = await (isStream ? live : whole)(response, since, head, body, session);
		} catch (error) {
			head.replaceChildren(h("b.bad", error.name === "AbortError" ? "stopped" : "No answer: " + error.message));
		}
		turn();
		if (!issues.length) head.scrollIntoView({ block: "nearest" });
		input.show(issues);
	};
	const keydown = (event) => {
		if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) call(event);
		else if (event.key === "Escape") running?.abort();
	};
	const element = h("article", { keydown }, h("div.title", h("a.back", { href: "#/" }, "‹ All operations"), h("h1", op.id),
		op.title !== op.id && h("p.lead", op.title), h("p.facts", h("b." + op.type, op.type), codes([op.method + " " + op.path]),
			op.x.version && "version " + op.x.version, op.x.destructive && h("b.bad", "destructive"),
			op.tags.map((tag) => button(tag, () => session.search(tag), ".quiet", "Show operations tagged " + tag))),
		op.description !== op.title && prose(op.description), access(op)),
	h("form", { submit: call, novalidate: true, "aria-label": op.id, input: refresh, click: () => setTimeout(refresh) }, h("h2", "Input"),
		input.element, h("div.actions", go, stop, h("span.hint", "Ctrl Enter"))),
	h("section", { "aria-label": "Answer" }, h("h2", "Request", copier(() => line.textContent)), line, h("h2", "Answer"), head, body));
	turn();
	return { element, refresh, leave: () => running?.abort() };
}
