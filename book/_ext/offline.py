"""Keeps the built pages free of script errors when they are opened from disk."""


def drop_second_thebe_url(app, pagename, templatename, context, doctree):
    """sphinx-thebe declares the constant THEBE_JS_URL twice on every page, which is a JavaScript error."""
    seen = False
    kept = []
    for script in context.get("script_files", []):
        body = (getattr(script, "attributes", None) or {}).get("body") or ""
        if "THEBE_JS_URL" in body:
            if seen:
                continue
            seen = True
        kept.append(script)
    context["script_files"] = kept


def setup(app):
    app.connect("html-page-context", drop_second_thebe_url, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
