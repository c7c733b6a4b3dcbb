"""What a program can do, as far as its text tells: names, values, calls, loops, guards. It knows no rule."""
