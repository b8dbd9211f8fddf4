// Elements from data. Text only ever becomes text nodes.

// h("p.hint", { id: "x", click: fn }, "text", element, ["more"]): an element; functions listen.
export function h(tag, ...children) {
	const [name, look] = tag.split("."), element = document.createElement(name);
	if (look) element.className = look;
	for (const [key, value] of Object.entries(children[0]?.constructor === Object ? children.shift() : {})) {
		if (typeof value === "function") element.addEventListener(key, value);
		else if (value != null && value !== false) element.setAttribute(key, value === true ? "" : value);
	}
	element.append(...children.flat(3).filter((child) => child != null && child !== false));
	return element;
}

export const button = (text, click, look = "", label, more) =>
	h("button" + look, { type: "button", click, "aria-label": label, ...more }, text);

export const codes = (names) => names.map((name) => h("code", name));

// Paragraphs, with `code` in them.
export const prose = (text) => String(text || "").split(/\n{2,}/).filter((part) => part.trim()).map((part) =>
	h("p.prose", part.split("`").map((piece, i) => (i % 2 ? h("code", piece) : piece))));

// JSON text in colours, each member a part.
export function coloured(text) {
	const element = h("code");
	let from = 0, part = element;
	if (text.length < 2e5)
		for (const match of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d[\d.eE+-]*/g)) {
			const kind = match[2] ? "key" : match[1] ? "string" : match[3] ? "word" : "number";
			part.append(text.slice(from, match.index));
			if (match[2]) element.append((part = h("span")));
			part.append(h("span.j-" + kind, match[1] || match[0]), match[2] || "");
			from = match.index + match[0].length;
		}
	part.append(text.slice(from));
	return element;
}

export const pretty = (value) => JSON.stringify(value, null, 2);

export function parsed(text) {
	try {
		return { value: JSON.parse(text) };
	} catch (error) {
		return { error };
	}
}

// A button that copies what `text` gives.
export function copier(text) {
	const self = button("Copy", async () => {
		await navigator.clipboard.writeText(text());
		self.textContent = "Copied";
		setTimeout(() => (self.textContent = "Copy"), 1500);
	}, ".quiet");
	return self;
}

// A modal dialog; it is gone once it is closed.
export function modal(title, ...children) {
	const dialog = h("dialog", { "aria-labelledby": "dialog", close: () => dialog.remove() }, h("h2", { id: "dialog" }, title), children);
	document.body.append(dialog);
	dialog.showModal();
	return dialog;
}
