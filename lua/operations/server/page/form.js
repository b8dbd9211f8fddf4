// Forms from JSON Schemas: a schema becomes fields, fields become a value, issues find their fields by JSON Pointer.
//
// A node is { element, error, get(), child(key) }: get() is undefined where nothing is given and throws where it is no
// value, child() is a member's node, `error` shows issues.
import { h, button, prose, pretty, parsed } from "./dom.js";

let serial = 0;
const list = (value) => (value === undefined ? [] : [].concat(value));
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const focus = (element) => element.querySelector("input,select,textarea,button")?.focus();

function merged(a, b) {
	const all = { ...a, ...b };
	if (a.properties && b.properties) all.properties = { ...a.properties, ...b.properties };
	if (a.required && b.required) all.required = [...a.required, ...b.required];
	return all;
}

// A schema without references and allOf; null is taken out (`nullable`), alternatives become `branches`.
function plain(schema, find) {
	let s = typeof schema === "object" ? schema : {};
	for (let i = 0; s.$ref && i < 32; i++) {
		const { $ref, ...rest } = s;
		s = merged({ name: $ref.split("/").pop(), ...find($ref) }, rest);
	}
	const { allOf = [], oneOf, anyOf = oneOf, ...own } = s;
	const base = allOf.reduce((all, part) => merged(all, plain(part, find)), own);
	let types = list(base.type), branches = list(anyOf);
	const count = branches.length + types.length;
	branches = branches.filter((b) => b.type !== "null" && b.const !== null);
	if (types.length > 1) types = types.filter((type) => type !== "null");
	const nullable = base.nullable || branches.length + types.length < count;
	if (branches.length === 1) return { ...plain(merged(base, branches[0]), find), ...(nullable && { nullable }) };
	branches = types.length > 1 && !base.enum ? types.map((type) => ({ ...base, type }))
		: branches.map((b) => merged(base, plain(b, find)));
	const values = branches.map((b) => ("const" in b ? [b.const] : b.enum));
	if (values[0] && values.every(Boolean)) return { ...base, nullable, enum: values.flat() };
	return { ...base, type: types[0], nullable, branches };
}

function kindOf(s) {
	if (s.branches?.length) return "choice";
	if (s.enum || "const" in s || s.type === "null" || s.type === "boolean") return "options";
	if (s.type === "object" && !s.properties) return "any";
	return s.type || (s.properties ? "object" : s.items ? "array" : "any");
}

// Does a value look like one of the schema? Enough to choose among branches.
function fits(schema, value, find) {
	const s = plain(schema, find), kind = Array.isArray(value) ? "array" : typeof value;
	if ("const" in s || s.enum) return list(s.enum ?? [s.const]).some((one) => same(one, value));
	if (s.type && s.type !== kind && (kind !== "number" || s.type !== "integer")) return false;
	return kind !== "object" || list(s.required).every((name) => value && name in value && fits(s.properties?.[name], value[name], find));
}

function range(low, high, unit) {
	if (low == null && high == null) return;
	return (low == null ? "≤ " + high : high == null ? "≥ " + low : low + " to " + high) + unit;
}

// What a schema wants, in a few words.
const hint = (s, required) => [
	required && "required", s.branches?.length ? "" : s.enum || "const" in s ? "" : s.type, s.format, s.contentMediaType,
	range(s.minLength, s.maxLength, " chars"), range(s.minimum, s.maximum, ""), range(s.minItems, s.maxItems, " items"),
	s.pattern,
].filter(Boolean).join(" · ");

// A node around `inner`: a control below its label, or a group of nodes.
function framed(name, s, required, given, inner, { read, child = () => {}, group, tool, control = inner }) {
	const id = "f" + ++serial, about = { "aria-describedby": `${id}h ${id}e` };
	const error = h("p.issue", { id: id + "e", role: "alert", hidden: true });
	const none = s.nullable && h("input", { type: "checkbox", "aria-label": name + " is null", change: () => (inner.hidden = none.checked) });
	if (none) inner.hidden = none.checked = given === null;
	if (!group) for (const [key, value] of Object.entries({ id, "aria-required": required, ...about })) inner.setAttribute(key, value);
	const label = group ? h("legend", name) : h("label", { for: id }, name);
	const head = h("div.label", !group && label, h("span.hint", { id: id + "h" }, hint(s, required)),
		none && h("label.null", none, "null"), tool);
	const element = group ? h("fieldset", about, label, head, prose(s.description), error, inner)
		: h("div.field", head, inner, error, prose(s.description));
	const node = { element, error, label, control, child, get: () => (none?.checked ? null : read(node)) };
	return node;
}

function options(name, s, required, given) {
	const values = "const" in s ? [s.const] : s.enum || (s.type === "null" ? [null] : [true, false]);
	const select = h("select", h("option", { value: "" }, required ? "choose" : "—"), values.map((value, i) => h("option", { value: i }, text(value))));
	const at = values.findIndex((value) => same(value, given));
	select.value = at >= 0 ? at : required && values.length === 1 ? 0 : "";
	return framed(name, s, required, given, select, { read: () => values[select.value || -1] });
}

function line(name, s, required, given) {
	const isText = s.type === "string", isLong = isText && (s.maxLength > 120 || s.contentMediaType);
	const control = h(isLong ? "textarea" : "input", { autocomplete: "off", spellcheck: "false", placeholder: s.examples && text(s.examples[0]),
		type: isLong ? null : s.format === "password" ? "password" : "text", inputmode: isText ? null : "decimal" });
	control.value = given == null ? "" : text(given);
	return framed(name, s, required, given, control, { read: () => {
		const value = control.value;
		if (value === "") return required && isText ? "" : undefined;
		return isText || !value.trim() || !Number.isFinite(Number(value)) ? value : Number(value);
	} });
}

// Whatever fields cannot show.
export function any(name, s, required, given) {
	const control = h("textarea", { rows: 3, spellcheck: "false", placeholder: "JSON" });
	control.value = given === undefined ? "" : pretty(given);
	return framed(name, s, required, given, control, { read: (node) => {
		if (!control.value.trim()) return undefined;
		const { value, error } = parsed(control.value);
		if (error) throw Object.assign(error, { node });
		return value;
	} });
}

// What is large and not required is there once it is asked for; so recursion ends.
function optional(name, s, make, given) {
	const place = h("div.later");
	let node;
	const close = () => {
		node = undefined;
		place.replaceChildren(h("div.label", h("span.name", name), h("span.hint", hint(s)),
			button("Add", () => focus(open(undefined)), ".quiet", "Add " + name)));
	};
	const open = (value) => {
		node = make(value, button("Remove", () => (close(), focus(place)), ".quiet", "Remove " + name));
		place.replaceChildren(node.element);
		return node.element.lastChild;
	};
	if (given === undefined) close();
	else open(given);
	return { element: place, get: () => node?.get(), child: (key) => node?.child(key), get error() { return node?.error; } };
}

// Required and small members come first.
const weights = { array: 1, object: 2, choice: 2 };

function object(name, s, required, given, find, tool) {
	const members = new Map(), rest = { ...given }, isRequired = (key) => list(s.required).includes(key);
	const weight = (key) => (weights[kindOf(plain(s.properties[key], find))] || 0) + (isRequired(key) ? 0 : 0.5);
	for (const key of Object.keys(s.properties).sort((a, b) => weight(a) - weight(b))) {
		members.set(key, field(key, s.properties[key], isRequired(key), rest[key], find));
		delete rest[key]; // what no field shows is kept
	}
	const inner = h("div", [...members.values()].map((node) => node.element));
	return framed(name, s, required, given, inner, { group: true, tool, child: (key) => members.get(key),
		read: () => Object.fromEntries([...Object.entries(rest), ...[...members].map(([key, node]) => [key, node.get()])]
			.filter(([, value]) => value !== undefined)) });
}

function array(name, s, required, given, find, tool) {
	const rows = [], inner = h("div");
	const rename = () => rows.forEach((row, i) => {
		if (row.node.label) row.node.label.textContent = `${name}[${i}]`;
		row.remove.setAttribute("aria-label", `Remove ${name}[${i}]`);
	});
	const add = (value) => {
		const row = { node: field(`${name}[${rows.length}]`, s.prefixItems?.[rows.length] ?? s.items, true, value, find) };
		row.remove = button("×", () => {
			rows.splice(rows.indexOf(row), 1);
			row.element.remove();
			rename();
			more.focus();
		}, ".quiet");
		row.element = h("div.row", row.node.element, row.remove);
		rows.push(row);
		more.before(row.element);
		rename();
		return row.element;
	};
	const more = button("Add item", () => focus(add()), ".quiet", "Add item to " + name);
	inner.append(more);
	for (const value of given || Array.from({ length: required ? Math.min(s.minItems || 0, 8) : 0 })) add(value);
	return framed(name, s, required, given, inner, { group: true, tool, control: more, child: (key) => rows[key]?.node,
		read: () => (rows.length || required ? rows.map((row) => row.node.get() ?? null) : undefined) });
}

function branchName(b, i) {
	const constant = Object.entries(b.properties || {}).find(([, p]) => "const" in p);
	return b.title || b.name || (constant && `${constant[0]}: ${text(constant[1].const)}`) || b.type || i + 1;
}

function choice(name, s, required, given, find, tool) {
	const place = h("div");
	const select = h("select", { "aria-label": "kind of " + name, change: () => open() },
		s.branches.map((b, i) => h("option", { value: i }, branchName(b, i))));
	let node;
	const open = (value) => {
		const { description, nullable, default: _, ...branch } = s.branches[select.value];
		node = field(name, branch, true, value, find);
		node.element.classList.add("bare");
		place.replaceChildren(node.element);
	};
	select.value = Math.max(0, s.branches.findIndex((b) => given != null && fits(b, given, find)));
	open(given ?? undefined);
	return framed(name, s, required, given, h("div", select, place), { group: true, tool, control: select,
		child: (key) => node.child(key), read: () => node.get() });
}

const makers = { options, any, array, object, choice, string: line, number: line, integer: line };

function field(name, schema, required, given, find) {
	const s = plain(schema, find), kind = kindOf(s), make = makers[kind] || any, value = given === undefined ? s.default : given;
	if (weights[kind] === 2 && !required) return optional(name, s, (v, tool) => make(name, s, false, v, find, tool), value);
	return make(name, s, required, value, find);
}

function tell(node, message) {
	node.error.textContent = node.error.hidden ? message : node.error.textContent + "; " + message;
	node.error.hidden = false;
	node.control?.setAttribute("aria-invalid", "true");
}

// Shows issues ({ path, message }) at the fields of a node, or at the nearest that there are; the first gets the focus.
export function show(root, issues) {
	for (const issue of root.element.querySelectorAll(".issue")) issue.hidden = true;
	for (const control of root.element.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
	let first;
	for (const { path, message, node: at } of issues) {
		let node = at || root, next;
		for (const part of (path || "").split("/").slice(1)) {
			next = node.child(part.replace(/~1/g, "/").replace(/~0/g, "~"));
			if (!next?.error) break;
			node = next;
		}
		tell(node, message);
		first ||= node.control;
	}
	first?.focus();
}

// The fields of a schema, as a node. `find` gives what a reference leads to.
export function form(schema, find, value) {
	const root = field("input", schema, true, value, find);
	root.element.classList.add("bare");
	return root;
}
