"""Prints a table: rows methods and steps, columns forms.
usage: table.py PROGRAM FIELDS CASES METHODS STEPS FORMS SECONDS     lists with commas; FIELDS of v,dE,top,L,it,most,back,rises,worst,err,turn,dv"""
import re, subprocess, sys
program, fields, cases, methods, steps, forms, seconds = sys.argv[1:]
fields = fields.split(',')
for c in cases.split(','):
    print(f'-- {c}, {seconds} s:  ' + ' | '.join(forms.split(',')))
    for m in methods.split(','):
        for h in steps.split(','):
            row = []
            for f in forms.split(','):
                try: o = subprocess.run([program, 'run', c, m, f, h, seconds] + (['ref'] if {'err', 'turn', 'dv'} & set(fields) else []), capture_output=True, text=True, timeout=110).stdout
                except subprocess.TimeoutExpired: row.append('slow'); continue
                d = {}; g = lambda p: (re.search(p, o) or [0, '?'])[1]
                d['v'] = g(r'v=(.*?) dE'); d['dE'] = g(r'dE/E0 (\S+)'); d['top'] = g(r'top (\S+)'); d['L'] = g(r' L (\S+)'); d['it'] = g(r'it (\S+)/'); d['most'] = g(r'it \S+/(\d+)')
                d['back'] = g(r'back (\S+)').replace('0/0/0/0/0', '-'); d['rises'] = g(r'rises (\d+)'); d['worst'] = g(r'rises \d+ (\S+)'); d['err'] = g(r'err (\S+)'); d['full'] = g(r'full (\d+)'); d['turn'] = g(r'turn (\S+)'); d['dv'] = g(r'dv (\S+)')
                row.append(('' if ' ok ' in o else 'DEAD ') + ' '.join(d[x] for x in fields).replace('e-0', 'e-'))
            print(f'{m:8} {h:5} ' + ' | '.join(row), flush=True)
