#include "schema/compile/uri.h"

typedef struct Part {
  const char *text;
  size_t len;
  bool present;
} Part;

typedef struct Uri {
  Part scheme, authority, path, query, fragment;
} Uri;

static bool is_scheme_char(char c, bool first) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return !first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.');
}

static void set_part(Part *part, const char *from, const char *to) {
  part->text = from;
  part->len = (size_t)(to - from);
  part->present = true;
}

/* strchr would find the NUL at the end of `stop`: one in the URI is passed. */
static const char *scan(const char *p, const char *end, const char *stop) {
  while (p < end && (*p == '\0' || strchr(stop, *p) == NULL)) p++;
  return p;
}

static void split(Uri *uri, const char *p, size_t len) {
  const char *end = p + len, *q = p;
  memset(uri, 0, sizeof(*uri));
  while (q < end && is_scheme_char(*q, q == p)) q++;
  if (q > p && q < end && *q == ':') {
    set_part(&uri->scheme, p, q);
    p = q + 1;
  }
  if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
    q = scan(p + 2, end, "/?#");
    set_part(&uri->authority, p + 2, q);
    p = q;
  }
  q = scan(p, end, "?#");
  set_part(&uri->path, p, q);
  p = q;
  if (p < end && *p == '?') {
    q = scan(p, end, "#");
    set_part(&uri->query, p + 1, q);
    p = q;
  }
  if (p < end) set_part(&uri->fragment, p + 1, end);
}

/* Drops the last segment that was written after `start`. */
static void drop_segment(buffer_Buffer *out, size_t start) {
  while (out->len > start && out->data[out->len - 1] != '/') out->len--;
  if (out->len > start) out->len--;
}

/* Appends `path` without its "." and ".." segments (section 5.2.4). */
static bool add_path(buffer_Buffer *out, const char *p, size_t len) {
  const char *end = p + len;
  size_t start = out->len;
  while (p < end) {
    const char *from = p, *name = *p == '/' ? p + 1 : p;
    size_t n;
    bool parent;
    p = scan(name, end, "/");
    n = (size_t)(p - name);
    parent = n == 2 && name[0] == '.' && name[1] == '.';
    if (parent || (n == 1 && name[0] == '.')) {
      if (parent) drop_segment(out, start);
      if (p == end && *from == '/' && !buffer_add_char(out, '/')) return false;
      if (*from != '/' && p < end) p++;
    } else if (!buffer_add(out, from, (size_t)(p - from))) {
      return false;
    }
  }
  return true;
}

/* The base's path up to its last slash, then the reference's (5.2.3). */
static bool merge(buffer_Buffer *out, const Uri *base, const Uri *ref) {
  buffer_Buffer joined;
  size_t keep = base->path.len;
  bool ok = true;
  buffer_init(&joined, out->alloc, out->max);
  while (keep > 0 && base->path.text[keep - 1] != '/') keep--;
  if (base->authority.present && base->path.len == 0)
    ok = buffer_add_char(&joined, '/');
  ok = ok && buffer_add(&joined, base->path.text, keep) &&
       buffer_add(&joined, ref->path.text, ref->path.len) &&
       add_path(out, joined.data, joined.len);
  buffer_free(&joined);
  return ok;
}

static bool add_prefixed(buffer_Buffer *out, const char *prefix,
                         const Part *part) {
  return !part->present || (buffer_add(out, prefix, strlen(prefix)) &&
                            buffer_add(out, part->text, part->len));
}

static bool resolve_path(buffer_Buffer *out, const Uri *base, const Uri *ref) {
  const Part *query = &ref->query;
  bool ok;
  if (ref->path.len == 0) {
    if (!query->present) query = &base->query;
    ok = buffer_add(out, base->path.text, base->path.len);
  } else if (ref->path.text[0] == '/') {
    ok = add_path(out, ref->path.text, ref->path.len);
  } else {
    ok = merge(out, base, ref);
  }
  return ok && add_prefixed(out, "?", query);
}

bool schema_uri_resolve(buffer_Buffer *out, const char *base_text,
                        size_t base_len, const char *text, size_t len) {
  Uri base, ref;
  split(&base, base_text, base_len);
  split(&ref, text, len);
  if (ref.scheme.present) return buffer_add(out, text, len);
  if (base.scheme.present &&
      (!buffer_add(out, base.scheme.text, base.scheme.len) ||
       !buffer_add_char(out, ':')))
    return false;
  if (ref.authority.present) {
    if (!add_prefixed(out, "//", &ref.authority) ||
        !add_path(out, ref.path.text, ref.path.len) ||
        !add_prefixed(out, "?", &ref.query))
      return false;
  } else if (!add_prefixed(out, "//", &base.authority) ||
             !resolve_path(out, &base, &ref)) {
    return false;
  }
  return add_prefixed(out, "#", &ref.fragment);
}

size_t schema_uri_fragment(const char *uri, size_t len) {
  const char *p = (const char *)memchr(uri, '#', len);
  return p == NULL ? len : (size_t)(p - uri);
}

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool schema_uri_decode(buffer_Buffer *out, const char *text, size_t len) {
  size_t i;
  for (i = 0; i < len; i++) {
    char c = text[i];
    if (c == '%' && i + 2 < len && hex(text[i + 1]) >= 0 &&
        hex(text[i + 2]) >= 0) {
      c = (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    }
    if (!buffer_add_char(out, c)) return false;
  }
  return true;
}
