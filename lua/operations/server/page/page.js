// The page: the list of operations, its search, and who is signed in. Credentials stay in this script's memory.
import { h, button, modal, prose } from "./dom.js";
import { operations } from "./call.js";
import { view } from "./view.js";

const $ = (id) => document.getElementById(id);
const source = new URL("openapi.json?denied=true", location.href).href;
const session = { signIn, search: (text) => (($("search").value = text), filter(), $("search").focus()) };
const views = new Map();
let all = [], shown, home = "", title = "API";

const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
const authorization = (shown, value) => ({ name: "Authorization", value: shown + value, shown });
// Kinds of credentials: what they ask for, and the header that they become.
const schemes = {
	Bearer: [["Token"], (token) => authorization("Bearer ", token)],
	Basic: [["User", "Password"], (user, password) => authorization("Basic ", base64(user + ":" + password))],
	Header: [["Name", "Value"], (name, value) => ({ name, value, shown: "" })],
};

function signIn() {
	const select = h("select", { id: "scheme", change: () => fill() }, Object.keys(schemes).map((name) => h("option", name)));
	const fields = h("div"), inputs = () => [...fields.querySelectorAll("input")];
	const fill = () => fields.replaceChildren(...schemes[select.value][0].map((name) => h("div.field", h("label", { for: name }, name),
		h("input", { id: name, autocomplete: "off", type: /User|Name/.test(name) ? "text" : "password" }))));
	const finish = (credentials) => {
		session.credentials = credentials;
		dialog.close();
		load();
	};
	const submit = (event) => {
		event.preventDefault();
		const empty = inputs().find((input) => !input.value.trim());
		if (empty) empty.focus();
		else finish(schemes[select.value][1](...inputs().map((input) => input.value.trim())));
	};
	const dialog = modal("Sign in", h("form", { submit }, h("div.field", h("label", { for: "scheme" }, "Credentials"), select), fields,
		h("p.hint", "They stay in the memory of this page only."),
		h("div.actions", session.credentials && button("Sign out", () => finish()), button("Cancel", () => dialog.close()), h("button.primary", "Sign in"))));
	fill();
	inputs()[0].focus();
}

// A token in the address is taken out of it at once.
function takeToken() {
	const [, token] = /^#token=(.+)$/.exec(location.hash) || [];
	if (!token) return false;
	history.replaceState(null, "", location.pathname + location.search);
	session.credentials = schemes.Bearer[1](decodeURIComponent(token));
	return true;
}

function link(op) {
	const { type, x } = op, mark = x.denied ? h("small", "no access") : type === "query" ? null
		: h("small." + type, type === "mutation" ? type : "stream");
	op.link = h(x.denied ? "a.no" : "a", { href: "#/" + encodeURIComponent(op.id), title: op.title }, h("span", op.id), mark);
	return (op.item = h("li", op.link));
}

function list() {
	const groups = new Map();
	for (const op of all) groups.set(op.tags[0], groups.get(op.tags[0]) || []).get(op.tags[0]).push(op);
	$("groups").replaceChildren(...[...groups].map(([tag, ops]) =>
		h("details", { open: true }, h("summary", tag, h("small", ops.length)), h("ul", ops.map(link)))));
	$("search").placeholder = `Search ${all.length} operations`;
	filter();
}

function filter() {
	const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
	let count = 0;
	for (const op of all) {
		const isFound = words.every((word) => op.text.includes(word));
		if (op.item.hidden === isFound) op.item.hidden = !isFound;
		count += isFound;
	}
	for (const group of $("groups").children) {
		group.hidden = !group.querySelector("li:not([hidden])");
		if (words.length) group.open = true;
	}
	$("count").textContent = words.length ? `${count} found` : "";
}

function welcome(info) {
	const counts = ["query", "mutation", "subscription"].map((type) => {
		const name = type === "query" ? "queries" : type + "s";
		return h("li", name, " ", h("strong." + type, all.filter((op) => op.type === type).length));
	});
	return h("div.welcome", h("h1", title), prose(info.description), h("ul", counts),
		h("p.hint", "/ searches · ↓ ↑ move · Ctrl Enter calls · Esc stops"));
}

// Shows what the address names.
function route() {
	const id = decodeURIComponent(location.hash.slice(2)), op = all.find((one) => one.id === id);
	shown?.leave();
	const key = op && JSON.stringify(op.raw); // what was typed stays as long as the operation is the same
	if (op && !views.has(key)) views.set(key, view(op, session));
	shown = views.get(key);
	shown?.refresh();
	for (const one of all) one.link.toggleAttribute("aria-current", one === op);
	document.body.classList.toggle("one", Boolean(op || !all.length));
	$("main").replaceChildren(shown ? shown.element : home);
	$("main").scrollTop = 0;
	document.title = op ? `${id} · ${title}` : title;
	if (op) (op.link.scrollIntoView({ block: "nearest" }), $("main").focus({ preventScroll: true }));
}

function failed(response) {
	const isRefused = /40[13]/.test(response.status), why = isRefused ? session.credentials ? "These credentials are not accepted." : "This API asks who you are."
		: `openapi.json: ${response.status || response.message}`;
	home = h("div.welcome", h("h1", title), h("p", { role: "alert" }, why),
		isRefused ? button("Sign in", signIn, ".primary") : button("Try again", load, ".primary"));
}

// Fetches the document; the browser sends the ETag of the one that it has.
async function load() {
	const { name, value } = session.credentials || {};
	$("sign-in").textContent = name ? "Signed in" : "Sign in";
	const response = await fetch(source, { headers: name ? { [name]: value } : {}, cache: "no-cache" }).catch((error) => error);
	const doc = response.ok && await response.json();
	all = doc ? operations(doc, source) : [];
	if (doc) {
		$("home").textContent = title = doc.info.title;
		$("version").textContent = doc.info.version;
		home = welcome(doc.info);
	} else failed(response);
	list();
	route();
}

addEventListener("hashchange", () => (takeToken() ? load() : route()));
$("search").addEventListener("input", filter);
$("sign-in").addEventListener("click", signIn);
addEventListener("keydown", (event) => {
	const { key, target } = event, move = { ArrowDown: 1, ArrowUp: -1 }[key];
	let next = key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && $("search");
	if (move && target.closest("nav")) {
		const stops = [$("search"), ...$("groups").querySelectorAll("[open] > ul > li:not([hidden]) > a")];
		next = stops[stops.indexOf(target) + move];
	}
	if (next) (event.preventDefault(), next.focus());
});
takeToken();
load();
